"""What an operator does is in the console and on the command line: one table holds both sides, through one command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from console.test_staff_roles import table_of
from tidegate import console, dashboard
from tidegate.cli import main
from tidegate.runtime import Runtime
from tidegate.staff_approval.table import STAFF_COMMANDS

TEMPLATES = Path(console.__file__).parent / "templates"
# Of forms that both doors have.
SHARED = Path(dashboard.__file__).parent / "templates"
# Where a form without an address of its own is sent: to its page.
PAGE_OF = {
    "held.html": "/held/{inflow}",
    "suspense.html": "/suspense/{receipt}",
    "refund.html": "/refunds/{business}/{reference}",
    "reconcile.html": "/reconcile",
}


class Action(NamedTuple):
    # Of the table of commands, or the function that both sides call.
    command: str
    # The name of its form in the console, and its words on the command line.
    route: str
    words: str


ACTIONS = (
    Action("inflow.credit", "decideHeldInflow", "inflow credit"),
    Action("inflow.return", "decideHeldInflow", "inflow return"),
    Action("suspense.assign", "decideSuspense", "suspense assign"),
    Action("suspense.return", "decideSuspense", "suspense return"),
    Action("suspense.close", "decideSuspense", "suspense close"),
    Action("quarantine.close", "closeQuarantine", "quarantine close"),
    Action("return.end", "endReturn", "return end"),
    Action("refund.end", "endRefund", "refund end"),
    Action("return.again", "endReturn", "return again"),
    Action("refund.again", "endRefund", "refund again"),
    Action("dispute.end", "endDispute", "dispute end"),
    Action("bank.pay", "proposeBankPayment", "bank payout approve"),
    Action("bank.pay", "amendBankPayment", "bank payout amend"),
    Action("bank.settle", "decideBankEntry", "bank settle"),
    Action("bank.record", "decideBankEntry", "bank record"),
    Action("bank.take_back", "decideBankEntry", "bank take-back"),
    Action("bank_file.payout.refuse", "refuseBankPayment", "bank payout refuse"),
    Action("rail.resume", "resumeRail", "rail resume"),
    Action("refund.create", "proposeRefund", "refund create"),
    Action("rate.set", "proposeRate", "rate set"),
    Action("rate.import", "proposeRates", "rate import"),
    Action("account.approve", "proposeOnAccount", "account approve"),
    Action("account.reinstate", "proposeOnAccount", "account reinstate"),
    Action("merchant.settings", "proposeSettings", "merchant set"),
    Action("merchant.settings", "proposeOnMerchant", "merchant set"),
    Action("merchant.price", "proposeOnMerchant", "merchant fee"),
    Action("merchant.key", "proposeKey", "merchant keys create"),
    Action("merchant.roll", "proposeRoll", "merchant keys roll"),
    Action("merchant.owner", "proposeOwner", "dashboard invite"),
    Action("person.reset", "proposeReset", "dashboard reset-factors"),
    Action("webhook.add", "proposeEndpoint", "webhook add"),
    Action("webhook.change", "proposeEndpoint", "webhook set"),
    Action("webhook.commands.change", "stopEndpoint", "webhook set"),
    Action("webhook.commands.change", "paceEndpoint", "webhook set"),
    Action("webhook.add", "proposeEndpoint", "merchant set"),
    Action("webhook.commands.resend", "resendForMerchant", "events resend"),
    Action("payer.erase", "proposeErasure", "erase"),
    Action("staff.add", "proposeOnStaff", "staff add"),
    Action("staff.remove", "proposeOnStaff", "staff remove"),
    Action("staff_approval.commands.approve", "approveProposal", "approval approve"),
    Action("staff_approval.commands.decline", "declineProposal", "approval decline"),
    Action("staff_approval.commands.decline", "withdrawProposal", "approval decline"),
    Action("merchant.commands.create", "createMerchant", "merchant create"),
    Action("merchant.commands.change", "setContact", "merchant set"),
    Action("merchant.commands.suspend", "suspendMerchant", "merchant set"),
    Action("merchant.commands.revoke_key", "revokeMerchantKey", "merchant keys revoke"),
    Action("merchant.card_pause.pause", "pauseCards", "merchant cards pause"),
    Action("merchant.card_pause.lift", "pauseCards", "merchant cards lift"),
    Action("account.question.ask", "askMerchant", "account ask"),
    Action("account.question.take_back", "takeBackQuestion", "account take-back"),
    Action("account.commands.decline", "suspendAccount", "account decline"),
    Action("account.commands.suspend", "suspendAccount", "account suspend"),
    Action("account.commands.close", "suspendAccount", "account close"),
    Action("account.document.add", "addDocument", "account document add"),
    Action("account.document.open_with_reason", "openDocument", "account document open"),
    Action("rail.pause.pause", "pauseRail", "rail pause"),
    Action("intake.ask_again.ask", "askRailAgain", "refund ask"),
    Action("intake.ask_again.ask", "askRailAgain", "return ask"),
    Action("webhook.job_command.retry", "retryJob", "job retry"),
    Action("webhook.job_command.run", "runJob", "job run"),
    Action("reconcile.commands.reconcile", "reconcile", "reconcile"),
    Action("reconcile.commands.reconcile_with_list", "reconcileList", "reconcile"),
    Action("reconcile.explanation.explain", "explainBreaks", "reconcile"),
    Action("doctor.proof.prove", "proveBooks", "doctor"),
    Action("doctor.commands.examine", "examineDeployment", "doctor"),
    Action("ledger.books.trial_balance", "exportBooks", "doctor"),
    Action("audit.chain.verify_all", "verifyAudit", "audit verify"),
    Action("audit.export.rows", "exportAudit", "audit export"),
)
# A page of another kind.
ONLY_IN_CONSOLE = {
    "viewAsMerchant": "a page to look at",
    "becomeStaff": "a page of the sandbox",
}
READS = ("list", "rounds", "show", "statement", "match", "try", "verify-signature", "docs", "check", "files")
ONLY_BY_COMMAND = {
    "runs the deployment": {
        "dev", "serve", "worker", "migrate", "init", "env", "reencrypt", "listen", "trigger", "sandbox trade",
        "console link", "approval link",
        "dashboard link", "emulate bank", "emulate pawapay", "emulate paystack",
    },
    # One person's browser must not be able to credit money, and a file for the bank is in the bank's folder alone.
    "a bank's files come and go by its own folder on the machine": {"bank import", "bank payout export"},
    "the merchant does it in its dashboard": {
        "link create", "link end", "events replay",
        "webhook remove", "webhook rotate", "webhook test",
    },
}  # fmt: skip
# Options of commands on the table, by the field of the console's form that says the same.
FIELD_OF = {
    "--account": "account", "--address": "addresses", "--amount": "amount", "--as": "sent_as", "--bank": "bank",
    "--business": "business", "--cap-minor": "cap", "--checkout-origin": "origins", "--email": "emails",
    "--expires-at": "expires_at", "--explain": "note", "--fixed-minor": "fixed", "--from": "from",
    "--inflow-name-policy": "names", "--key": "key", "--name": "name", "--note": "why", "--on-refund": "on_refund",
    "--outcome": "outcome", "--overlap-hours": "overlap", "--payment": "payment", "--percent": "percent",
    "--phone": "phones", "--quoted-at": "quoted_at", "--rail": "rail", "--rate": "rate", "--rate-burst": "burst",
    "--rate-per-second": "rate", "--reason": "reason", "--redirect-host": "hosts", "--refund-max": "limit",
    "--role": "role", "--scope": "scope", "--slack": "slack", "--source": "source", "--spread-percent": "spread",
    "--status": "what", "--to": "to", "--until": "days", "--url": "url", "--variance-policy": "variance",
    "--variance-tolerance-minor": "tolerance", "--vat-percent": "vat", "--webhook-url": "url", "--why": "why",
}  # fmt: skip
ONLY_OPTIONS = {
    "how the command answers, and who types it": {"--json", "--yes", "--by", "--show", "--help"},
    "a button of its own": {"--books"},
    "looks from the machine at its address, disk, standbys and mail": {"--deep"},
    # In its dashboard, or by the API with its key.
    "the merchant chooses it": {
        "--session-minutes", "--fee-bearer", "--receipts-by-mail", "--accent", "--support-email", "--support-phone",
        "--support-url", "--logo", "--no-logo", "--event", "--no-events", "--description",
    },
    "a form has a field for each column": {"--columns"},
}  # fmt: skip


# Where one of these has another name in its form, or its form says it by being there.
OTHER_FIELD = {
    ("merchant create", "--email"): "email",
    ("merchant set", "--email"): "contact",
    ("account document open", "--why"): "reason",
    ("bank payout refuse", "--why"): "reason",
    ("reconcile", "--note"): "note",
    # One form enables, the other one stops.
    ("webhook set", "--status"): "endpoint",
    # Set once it is there.
    ("webhook add", "--rate-per-second"): "endpoint",
}
# A part of the page's address.
IN_ADDRESS = {"--business": "{business}", "--account": "{account}", "--rail": "{rail}"}


def test_every_staff_command_is_on_both_sides_or_says_why_not() -> None:
    assert STAFF_COMMANDS.keys() - {one.command for one in ACTIONS} == set()


async def test_every_form_of_the_console_is_a_command(runtime: Runtime) -> None:
    forms = {row.name for row in table_of(runtime) if row.method == "POST"}
    assert forms == {one.route for one in ACTIONS} | ONLY_IN_CONSOLE.keys()


def test_every_command_that_changes_something_is_a_form_of_the_console() -> None:
    alone = set().union(*ONLY_BY_COMMAND.values())
    changing = {words for words in all_commands(main, []) if words.rpartition(" ")[2] not in READS}
    assert changing == {one.words for one in ACTIONS} | alone


async def test_every_option_of_a_command_is_a_field_of_its_own_form_or_says_why_not(runtime: Runtime) -> None:
    paths = {row.name: row.path for row in table_of(runtime) if row.method == "POST"}
    said = set().union(*ONLY_OPTIONS.values())
    for words in {one.words for one in ACTIONS}:
        sent_to = [paths[one.route] for one in ACTIONS if one.words == words]
        found = set().union(*(fields_sent_to(path) for path in sent_to))
        for option in set(options_of(words)) - said:
            field = OTHER_FIELD.get((words, option)) or FIELD_OF[option]
            is_in_address = option in IN_ADDRESS and IN_ADDRESS[option] in sent_to[0]
            assert field in found or is_in_address, (words, option)


async def test_every_form_of_the_console_is_on_a_page(runtime: Runtime) -> None:
    paths = {row.name: row.path for row in table_of(runtime) if row.method == "POST"}
    assert {name for name, path in paths.items() if not forms_sent_to(path)} == set()


def fields_sent_to(path: str) -> set[str]:
    """Names of the fields of all forms that are sent there, as the templates have them."""
    found = " ".join(forms_sent_to(path))
    found += " ".join((SHARED / name).read_text() for name in re.findall(r'include "(\w+\.html)"', found))
    pairs = re.findall(r'name="([a-z_]+)["-]|parts\.field\("([a-z_]+)["-]', found)
    return {name for pair in pairs for name in pair if name} | ({"why"} if "pieces.why(" in found else set())


def forms_sent_to(path: str) -> list[str]:
    return [form for address, form in all_forms() if address.fullmatch(path)]


def all_forms() -> Iterator[tuple[re.Pattern[str], str]]:
    """Where each form is sent, and its text. An address in a template is made of words, and names for the rest."""
    for file in (*TEMPLATES.glob("*.html"), SHARED / "delivery.html"):
        for form in re.findall(r'<form method="post".*?</form>', file.read_text(), re.DOTALL):
            addresses = re.findall(r'action="\{\{ path\((.*?)\) \}\}"', form)
            for address in addresses or [f"'{PAGE_OF[file.name]}'"]:
                parts = (part.strip() for part in address.split("~"))
                yield re.compile("".join(re.escape(one[1:-1]) if one[0] in "'\"" else ".+" for one in parts)), form


def options_of(words: str) -> Iterator[str]:
    command: click.Command = main
    for word in words.split():
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None, words
        command = found
    yield from (one.opts[0] for one in command.params if isinstance(one, click.Option))


def all_commands(command: click.Command, words: list[str]) -> Iterator[str]:
    if not isinstance(command, click.Group):
        yield " ".join(words)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from all_commands(found, [*words, name])
