"""Merchants: the list, one with its state, prices and limits, and looking at its dashboard."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import quote

import msgspec

from tidegate.approval import store as approval_store
from tidegate.console import merchant_store
from tidegate.console.accounts import reason_in
from tidegate.console.proposing import propose, show_proposals
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, NotFound, Problem, Refusal
from tidegate.core.fee import DEFAULT_FEE_RULES, FeeOnRefund, basis_points_in, fee_on
from tidegate.core.method import METHOD_WORDS, priced_in
from tidegate.core.money import Currency, Money
from tidegate.dashboard.form import NO_ACTION
from tidegate.dashboard.format import amount, percent
from tidegate.dashboard.paging import number_in
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.member import team_store
from tidegate.member.model import email_in
from tidegate.member.view_as import view_link
from tidegate.merchant import card_pause, card_pause_store, commands
from tidegate.merchant.field import EmailAddress, PersonName
from tidegate.merchant.model import Business
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import commands as staff_approvals
from tidegate.staff_approval.arguments import PriceArguments, SettingArguments, percent_of
from tidegate.staff_approval.proposals import facts_to_keep
from tidegate.staff_approval.setting_words import SETTING_CHOICES, SETTING_LABELS
from tidegate.webhook import store as webhook_store

PAGE = 50
SINCE = timedelta(days=30)
PART_CHARS_MAX = 100
RATE_MAX = 100_000
EXAMPLE_MAJOR = 10_000


@dataclass(frozen=True)
class MerchantPages:
    shell: ConsoleShell
    # Where merchants' people sign in.
    base_url: str

    async def show_list(self, visitor: ConsoleVisitor) -> Html:
        return await self._list(visitor)

    async def _list(self, visitor: ConsoleVisitor, wrong: Refusal | None = None) -> Html:
        query = visitor.request.query
        part, after = query.get("part", "")[:PART_CHARS_MAX], query.get("after", "")[:PART_CHARS_MAX]
        async with self.shell.db.connection() as tx:
            found = await merchant_store.list_merchants(
                tx, part=part, after=after, since=visitor.now - SINCE, limit=PAGE + 1
            )
        older = f"?part={quote(part)}&after={quote(found[PAGE - 1].id)}" if len(found) > PAGE else None
        return self.shell.page(
            visitor, "merchants.html", title="Merchants", section="Merchants", older=older, part=part,
            merchants=[(one, percent(one.paid, one.ended)) for one in found[:PAGE]], wrong=wrong,
            status=422 if wrong else 200,
        )  # fmt: skip

    async def create(self, visitor: ConsoleVisitor) -> Html:
        """The keys are shown to the owner, who makes them in the dashboard; they are not shown here. The owner has all
        rights, so the invitation is approved by another person.
        """
        name, email = visitor.form.get("name", "").strip(), visitor.form.get("email", "").strip()
        try:
            _check_new(name, email)
        except Invalid as wrong:
            return await self._list(visitor, wrong)

        async def act(tx: Tx) -> str:
            new = await commands.create_in(
                tx, name=name, email=email, mode=self.shell.mode, now=visitor.now, by=visitor.by
            )
            business_id = new.business.id
            version = await staff_approvals.version_of(tx, "merchant.owner", business_id, email)
            proposal = staff_approvals.proposal_of(
                "merchant.owner", business_id, email_in(email), version, why="the first owner of a new merchant",
                asked_by=visitor.staff.member.id,
            )  # fmt: skip
            facts = await facts_to_keep(self.shell.approvals, tx, proposal)
            kept = msgspec.structs.replace(proposal, facts=facts)
            await staff_approvals.propose(tx, kept, by=visitor.by, now=visitor.now)
            return f"/merchants/{business_id}?said=created"

        return await self.shell.once(visitor, act)

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self.page(visitor, visitor.request.path["business"])

    async def page(
        self, visitor: ConsoleVisitor, business_id: str, wrong: Refusal | None = None, *, view: str = ""
    ) -> Html:
        business = await commands.get(self.shell.db, business_id)
        async with self.shell.db.connection() as tx:
            version = await staff_approvals.version_of(tx, "merchant.settings", business_id, business_id)
            found = await approval_store.list_of_business(tx, business_id)
            proposed = await show_proposals(self.shell, visitor, tx, found)
            wallets = await merchant_store.list_wallets(tx, business_id)
            paused = await card_pause_store.find_open(tx, business_id)
            team = await team_store.list_team(tx, business_id)
            endpoints = [
                (one, await staff_approvals.version_of(tx, "webhook.change", business_id, one.id))
                for one in await webhook_store.list_all(tx, business_id)
            ]
        return self.shell.page(
            visitor, "merchant.html", title=business.name, section="Merchants", business=business, version=version,
            proposed=proposed, wallets=wallets, paused=paused,
            prices=prices_of(business), wrong=wrong, view=view, endpoints=endpoints, team=team,
            status=200 if wrong is None else 422 if isinstance(wrong, Invalid) else 409,
            currencies=sorted({currency.value for currency, _ in DEFAULT_FEE_RULES}),
            methods=METHOD_WORDS, labels=SETTING_LABELS, choices=SETTING_CHOICES,
        )  # fmt: skip

    async def suspend(self, visitor: ConsoleVisitor) -> Html:
        business_id = visitor.request.path["business"]
        try:
            await commands.suspend(self.shell.db, business_id, reason_in(visitor), by=visitor.by, now=visitor.now)
        except Invalid as wrong:
            return await self.page(visitor, business_id, wrong)
        return self.shell.to(f"/merchants/{business_id}?said=done")

    async def set_contact(self, visitor: ConsoleVisitor) -> Html:
        """How it is called and reached: gives it no right, so one person does it."""
        business_id = visitor.request.path["business"]
        name, email = (visitor.form.get(field, "").strip() for field in ("name", "contact"))
        try:
            _check_new(name, email, field="contact")
            changes = {"name": PersonName.parse(name), "email": EmailAddress.parse(email)}
            await commands.change(self.shell.db, business_id, changes, by=visitor.by, now=visitor.now)
        except Invalid as wrong:
            return await self.page(visitor, business_id, wrong)
        return self.shell.to(f"/merchants/{business_id}?said=done")

    async def pause_cards(self, visitor: ConsoleVisitor) -> Html:
        """Or lifts the pause: cards bring money in, so one person does either."""
        business_id = visitor.request.path["business"]
        await commands.get(self.shell.db, business_id)
        try:
            async with self.shell.db.transaction() as tx:
                if visitor.form.get("what") == "lift":
                    await card_pause.lift(tx, business_id, by=visitor.by, now=visitor.now)
                else:
                    await card_pause.pause(tx, business_id, reason_in(visitor), by=visitor.by, now=visitor.now)
        except (Invalid, Conflict) as wrong:
            return await self.page(visitor, business_id, wrong)
        return self.shell.to(f"/merchants/{business_id}?said=done")

    async def decide(self, visitor: ConsoleVisitor) -> Html:
        business_id = visitor.request.path["business"]
        await commands.get(self.shell.db, business_id)
        try:
            match visitor.form.get("what"):
                case "reinstate":
                    return await self._change(visitor, business_id, SettingArguments(status="active"))
                case "price":
                    price = price_in(visitor, await commands.get(self.shell.db, business_id))
                    return await propose(
                        self.shell, visitor, "merchant.price", business_id, business_id, arguments=price
                    )
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self.page(visitor, business_id, wrong)
        raise NotFound(NO_ACTION)

    async def _change(self, visitor: ConsoleVisitor, business_id: str, wanted: SettingArguments) -> Html:
        return await propose(self.shell, visitor, "merchant.settings", business_id, business_id, arguments=wanted)

    async def view_as(self, visitor: ConsoleVisitor) -> Html:
        """Read-only, with a reason that the merchant reads in its audit log."""
        business_id = visitor.request.path["business"]
        business = await commands.get(self.shell.db, business_id)
        try:
            reason = reason_in(visitor)
        except Invalid as wrong:
            return await self.page(visitor, business_id, wrong)
        async with self.shell.db.transaction() as tx:
            url = await view_link(
                tx, self.base_url, business, visitor.session.member, reason=reason, by=visitor.by, now=visitor.now
            )
        return await self.page(visitor, business_id, view=url)

    async def name_of(self, visitor: ConsoleVisitor) -> str:
        return (await commands.get(self.shell.db, visitor.request.path["business"])).name

    async def confirms_new(self, visitor: ConsoleVisitor) -> str:
        return f"Create the merchant {visitor.form.get('name', '').strip()}"

    async def confirms_contact(self, visitor: ConsoleVisitor) -> str:
        return f"Change the name or the address of {await self.name_of(visitor)}"

    async def confirms_suspension(self, visitor: ConsoleVisitor) -> str:
        return f"Suspend {await self.name_of(visitor)}"

    async def confirms_cards(self, visitor: ConsoleVisitor) -> str:
        act = "Lift the pause of" if visitor.form.get("what") == "lift" else "Pause"
        return f"{act} cards of {await self.name_of(visitor)}"

    def routes(self) -> list[ConsoleRoute]:
        at = "/merchants/{business}"
        return [
            ConsoleRoute("GET", "/merchants", "showMerchants", StaffPermission.SEE, self.show_list),
            ConsoleRoute(
                "POST",
                "/merchants",
                "createMerchant",
                StaffPermission.CREATE,
                self.create,
                confirms=self.confirms_new,
            ),
            ConsoleRoute("GET", at, "showMerchant", StaffPermission.SEE, self.show),
            ConsoleRoute(
                "POST",
                f"{at}/contact",
                "setContact",
                StaffPermission.CREATE,
                self.set_contact,
                confirms=self.confirms_contact,
            ),
            ConsoleRoute(
                "POST",
                f"{at}/suspend",
                "suspendMerchant",
                StaffPermission.SUSPEND,
                self.suspend,
                confirms=self.confirms_suspension,
            ),
            ConsoleRoute(
                "POST",
                f"{at}/cards",
                "pauseCards",
                StaffPermission.SUSPEND,
                self.pause_cards,
                confirms=self.confirms_cards,
            ),
            ConsoleRoute("POST", f"{at}/propose", "proposeOnMerchant", StaffPermission.PROPOSE, self.decide),
            ConsoleRoute("POST", f"{at}/view", "viewAsMerchant", StaffPermission.SEE, self.view_as),
        ]


def _check_new(name: str, email: str, *, field: str = "email") -> None:
    """`field` is that of the address: a page may have another form with an e-mail."""
    problems = []
    for check, value, at, what in ((PersonName, name, "name", "name"), (EmailAddress, email, field, "e-mail")):
        try:
            check.parse(value)
        except ValueError as error:
            problems.append(Problem(at, f"The {what} {error}."))
    if problems:
        raise Invalid(*problems)


def limits_in(visitor: ConsoleVisitor) -> SettingArguments:
    return SettingArguments(
        rate_per_second=_limit_in(visitor, "rate", "rate_per_second"),
        rate_burst=_limit_in(visitor, "burst", "rate_burst"),
    )


def _limit_in(visitor: ConsoleVisitor, field: str, setting: str) -> int:
    number = number_in(visitor.form.get(field, ""))
    if number is None or not 1 <= number <= RATE_MAX:
        raise Invalid(Problem(field, f"{SETTING_LABELS[setting]}: enter a whole number from 1 to {RATE_MAX:,}."))
    return number


def price_in(visitor: ConsoleVisitor, business: Business) -> PriceArguments:
    """VAT, and whether a refund gives the fee back, stay as they are where nothing is said."""
    form = visitor.form
    try:
        key = Currency(form.get("currency", "")), priced_in(form.get("method", ""))
        now = business.fee_rule_for(*key)
        on_refund = FeeOnRefund(form["on_refund"]) if form.get("on_refund") else now.on_refund
    except (ValueError, KeyError):
        raise Invalid(Problem("method", "This method is not offered in this currency.")) from None
    fixed, cap = form.get("fixed", "") or "0", form.get("cap", "")
    if not all(text.isascii() and text.isdigit() and len(text) <= 12 for text in (fixed, cap or "0")):
        raise Invalid(Problem("fixed", "Enter whole minor units, such as 10000 for 100.00."))
    return PriceArguments(
        currency=key[0],
        method=form["method"],
        basis_points=_basis_points(form.get("percent", "")),
        vat_basis_points=_basis_points(form["vat"], "vat") if form.get("vat") else now.vat_basis_points,
        fixed_minor=int(fixed),
        cap_minor=int(cap) if cap else None,
        on_refund=on_refund,
    )


def _basis_points(text: str, field: str = "percent") -> int:
    points = basis_points_in(text.strip())
    if points is None:
        raise Invalid(Problem(field, "Enter a percentage from 0 to 100 with at most two decimals."))
    return points


def prices_of(business: Business) -> list[tuple[str, str, str, str, bool]]:
    """Currency, method, price, the fee on a worked example, and whether it is this merchant's own."""
    shown = []
    for (currency, method), usual in DEFAULT_FEE_RULES.items():
        rule = business.own_fee_rules.get((currency, method), usual)
        example = Money.of_major(EXAMPLE_MAJOR, currency)
        fixed = f" + {amount(Money(rule.fixed_minor, currency))}" if rule.fixed_minor else ""
        cap = f", at most {amount(Money(rule.cap_minor, currency))}" if rule.cap_minor is not None else ""
        shown.append((currency.value, METHOD_WORDS[method], f"{percent_of(rule.basis_points)}{fixed}{cap}",
                      f"{amount(fee_on(example, rule).total)} of {amount(example)}",
                      (currency, method) in business.own_fee_rules))  # fmt: skip
    return shown
