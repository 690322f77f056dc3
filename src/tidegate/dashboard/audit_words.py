"""Rows of the audit log in plain words: who, what, to which thing, and what changed. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from tidegate.core import ids
from tidegate.dashboard.audit_store import AuditLogRow
from tidegate.dashboard.format import Times
from tidegate.member.permission import Permission

# As details have it.
_MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|\+00:00)")


class ActionWords(NamedTuple):
    what: str
    # Where the thing is found, with its subject in place of {}; empty where it has no page of its own.
    page: str = ""


_LINK, _REFUND, _PAYMENT = "/links/{}", "/refunds/{}", "/payments/{}"
ACTIONS = {
    "access.denied": ActionWords("was refused, for lack of a right"),
    "account.answered": ActionWords("answered a question about the account", "/accounts/{}"),
    "account.approve": ActionWords("approved the account"),
    "account.asked": ActionWords("asked about the account", "/accounts/{}"),
    "account.close": ActionWords("closed the account"),
    "account.decline": ActionWords("declined the account"),
    "account.expire": ActionWords("ended the account at its date"),
    "account.question_taken_back": ActionWords("took back a question about the account", "/accounts/{}"),
    "account.reinstate": ActionWords("reinstated the account"),
    "account.requested": ActionWords("requested an account"),
    "account.suspend": ActionWords("suspended the account"),
    "business.created": ActionWords("created the business"),
    "business.branded": ActionWords("changed the branding", "/branding"),
    "business.changed": ActionWords("changed the settings", "/settings"),
    "business.viewed": ActionWords("looked at this dashboard, without changing anything"),
    "cards.paused": ActionWords("paused cards"),
    "cards.resumed": ActionWords("let cards be taken again"),
    "case.revoked": ActionWords("ended a case link", _PAYMENT),
    "case.shared": ActionWords("made a case link", _PAYMENT),
    "collection.credited": ActionWords("credited a held inflow", "/inflows/{}"),
    "collection.hold_ended": ActionWords("ended the hold of an inflow", "/inflows/{}"),
    "collection.sent_back": ActionWords("sent an inflow back", "/inflows/{}"),
    "dispute.ended": ActionWords("ended a dispute by hand"),
    "document.added": ActionWords("added a document about the holder of the account"),
    "document.opened": ActionWords("opened a document about the holder of the account"),
    "job.retried": ActionWords("let work that had failed run again"),
    "key.created": ActionWords("made an API key", "/keys"),
    "key.revoked": ActionWords("revoked an API key", "/keys"),
    "key.rolled": ActionWords("rolled an API key", "/keys"),
    "payer.erased": ActionWords("erased a payer's data"),
    "payout.amended": ActionWords("said where the bank pays"),
    "payout.approved": ActionWords("approved a payment by the bank"),
    "payout.exported": ActionWords("took a payment to the bank"),
    "payout.refused": ActionWords("refused a payment by the bank"),
    "payment.created": ActionWords("created a payment of", _PAYMENT),
    "payment.disabled": ActionWords("disabled a payment", _PAYMENT),
    "payment.enabled": ActionWords("enabled a payment", _PAYMENT),
    "payment_link.created": ActionWords("made a payment link", _LINK),
    "payment_link.ended": ActionWords("ended a payment link", _LINK),
    "payment_link.reopened": ActionWords("reopened a payment link", _LINK),
    "price.set": ActionWords("set the price of"),
    "rate.set": ActionWords("set an exchange rate"),
    "receipt.sent": ActionWords("sent the payer the receipt of", _PAYMENT),
    "refund.approved": ActionWords("approved a refund of", _REFUND),
    "refund.asked": ActionWords("asked the rail again about a refund"),
    "refund.declined": ActionWords("declined a refund of", _PAYMENT),
    "refund.taken_back": ActionWords("took back the request for a refund of", _PAYMENT),
    "refund.ended": ActionWords("ended a refund by hand"),
    "refund.limits": ActionWords("changed the refund limits", "/settings"),
    "refund.requested_again": ActionWords("let a refund be requested from its rail again"),
    "refund.proposed": ActionWords("asked for a refund of", _PAYMENT),
    "refund.started": ActionWords("started a refund of", _REFUND),
    "return.asked": ActionWords("asked the rail again about a return"),
    "return.ended": ActionWords("ended a return by hand"),
    "return.requested_again": ActionWords("let a return be requested from its rail again"),
    "suspense.assigned": ActionWords("gave money without an owner to this business"),
    "suspense.closed": ActionWords("closed money without an owner"),
    "suspense.returned": ActionWords("sent money without an owner back"),
    "team.factors_end": ActionWords("decided to remove, in 24 hours, the second factors of", "/team"),
    "team.factors_reset": ActionWords("reset the second factors of", "/team"),
    "team.invited": ActionWords("invited", "/team"),
    "team.invitation_printed": ActionWords("printed the link of the invitation of", "/team"),
    "team.joined": ActionWords("joined the team"),
    "team.removed": ActionWords("removed from the team", "/team"),
    "team.role": ActionWords("changed the role of", "/team"),
    "team.withdrawn": ActionWords("withdrew the invitation of", "/team"),
    "webhook.endpoint.changed": ActionWords("changed a webhook endpoint", "/webhooks"),
    "webhook.endpoint.created": ActionWords("added a webhook endpoint", "/webhooks"),
    "webhook.endpoint.deleted": ActionWords("deleted a webhook endpoint"),
    "webhook.endpoint.disabled": ActionWords("disabled a failing webhook endpoint", "/webhooks"),
    "webhook.endpoint.rotated": ActionWords("rotated the secret of an endpoint", "/webhooks"),
    "webhook.endpoint.tested": ActionWords("sent a test event", "/webhooks"),
    "webhook.replayed": ActionWords("replayed webhooks", "/webhooks"),
    "webhook.resent": ActionWords("sent a webhook again", "/webhooks/deliveries/{}"),
}
# What the operator's staff decide by two, as the rows of each step say it.
STAFF_COMMAND_WORDS = {
    "account.approve": "to approve the account",
    "account.reinstate": "to reinstate the account",
    "bank.pay": "to let a payment to a bank account out",
    "dispute.end": "to end a dispute by hand",
    "inflow.credit": "to credit a held inflow",
    "inflow.return": "to send an inflow back",
    "merchant.key": "to make an API key",
    "merchant.owner": "to invite an owner",
    "webhook.add": "to send events to another address,",
    "webhook.change": "to send events elsewhere from the endpoint",
    "merchant.price": "to change a price",
    "merchant.roll": "to replace an API key",
    "merchant.settings": "to change the settings",
    "refund.again": "to request a refund from its rail again",
    "refund.create": "to refund",
    "refund.end": "to end a refund by hand",
    "return.again": "to request a return from its rail again",
    "return.end": "to end a return by hand",
    "suspense.assign": "to give money without an owner to this business",
    "suspense.close": "to close money without an owner",
    "suspense.return": "to send money without an owner back",
}
STEPS = {
    "proposed": "proposed",
    "approved": "approved the proposal",
    "declined": "declined the proposal",
    "taken_back": "took back the proposal",
}
ACTIONS |= {
    f"{command}.{step}": ActionWords(f"{verb} {words}", "/inflows/{}" if command.startswith("inflow.") else "")
    for command, words in STAFF_COMMAND_WORDS.items()
    for step, verb in STEPS.items()
}
# Of the filter: the beginnings of the actions.
GROUPS = {
    "refunds": ("Refunds", ("refund.", "return.", "dispute.", "payout.")),
    "team": ("Team", ("team.",)),
    "keys": ("API keys", ("key.",)),
    "webhooks": ("Webhooks", ("webhook.",)),
    "settings": ("Settings and branding", ("business.", "merchant.", "price.", "cards.")),
    "links": ("Payments and links", ("payment.", "payment_link.", "case.", "receipt.")),
    "accounts": (
        "Accounts and inflows",
        ("account.", "bank.", "collection.", "document.", "inflow.", "job.", "rate.", "suspense."),
    ),
    "refused": ("Refused", ("access.",)),
}
_LABELS = {
    "accent": "colour",
    "asked_by": "asked by",
    "fee_bearer": "who pays the fee",
    "lastFour": "last four",
    "proposedBy": "proposed by",
    "receipts_by_mail": "receipts by e-mail",
    "redirect_hosts": "redirect hosts",
    "session_minutes": "minutes to pay",
    "support_email": "e-mail for questions",
    "support_phone": "phone for questions",
    "time_zone": "time zone",
    "two_step_for_all": "two steps for everybody",
    "variance_policy": "when the amount differs",
}
# A value as programs write it.
_NAME = re.compile("[a-z]+(?:_[a-z]+)+")
# Numbers of rows, which say nothing to a reader.
_NOT_SHOWN = frozenset({"approval", "event", "of", "proposedBy"})
# Several values each.
_LISTS = frozenset({"events", "scopes"})
# Settings whose subject is the business itself.
_ABOUT_ITSELF = ("business.", "cards.", "merchant.", "refund.limits")


@dataclass(frozen=True)
class AuditLine:
    row: AuditLogRow
    who: str
    what: str
    thing: str
    page: str
    changes: list[str]

    @property
    def is_real_time(self) -> bool:
        """A sandbox's clock is ahead by minutes at least."""
        return abs(self.row.at - self.row.written_at) < timedelta(minutes=1)


def line_of(row: AuditLogRow, people: Mapping[str, str]) -> AuditLine:
    """`people` has the names of `person/ID`."""
    words = ACTIONS.get(row.action) or ActionWords(row.action.replace(".", ": ").replace("_", " "))
    page = page_of(row.subject) if words.page == _PAYMENT else words.page.format(row.subject)
    who = who_of(row.actor, name=people.get(row.actor), key_name=row.key_name)
    return AuditLine(row, who, words.what, _thing(row, people), page, changes_of(row.details, people))


def page_of(reference: str) -> str:
    """Of a payment by its pay code, or of an inflow."""
    return f"/payments/{reference}" if ids.looks_like_pay_code(reference) else f"/inflows/{reference}"


def who_of(actor: str, *, name: str | None, key_name: str | None) -> str:
    """`name` is that of a person, `key_name` that of a key, where they are known."""
    kind = actor.partition("/")[0]
    if kind == "key":
        return f"API key {key_name}" if key_name else "API key"
    if kind == "person":
        return name or "a former member"
    return {"operator": "Tidegate's operator", "staff": "Tidegate's operator", "tidegate": "Tidegate"}.get(kind, kind)


def _thing(row: AuditLogRow, people: Mapping[str, str]) -> str:
    if row.action.startswith(_ABOUT_ITSELF):
        return ""
    if row.action == "access.denied":
        known = {one.name.lower(): one.value for one in Permission}
        return known.get(row.subject, row.subject)
    if row.action == "webhook.replayed" and row.subject == "all":
        return "all endpoints"
    return people.get(f"person/{row.subject}") or row.thing or row.subject


def in_zone(line: AuditLine, times: Times) -> AuditLine:
    """With the moments of its changes in the business's zone, as the other times of its page."""
    changes = [_MOMENT.sub(lambda at: times.long(datetime.fromisoformat(at[0])), one) for one in line.changes]
    return replace(line, changes=changes)


def changes_of(details: str, people: Mapping[str, str], *, left_out: frozenset[str] = _NOT_SHOWN) -> list[str]:
    """`before → after` where there are two; what did not change is left out."""
    found: dict[str, Any] = msgspec.json.decode(details)
    lines = []
    for name, value in found.items():
        label = _LABELS.get(name, name.replace("_", " "))
        if name in left_out or value in (None, "", [], {}):
            continue
        if _is_change(name, value):
            before, after = value
            if before != after:
                lines.append(f"{label}: {_shown(before, people)} → {_shown(after, people)}")
        else:
            lines.append(f"{label}: {_shown(value, people)}")
    return lines


def _is_change(name: str, value: Any) -> bool:
    """Before and after; two of a list are none."""
    is_pair = isinstance(value, list) and len(value) == 2
    return is_pair and (name not in _LISTS or all(isinstance(one, list) for one in value))


def _shown(value: Any, people: Mapping[str, str]) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_shown(one, people) for one in value) or "none"
    if value is None or value == "":
        return "none"
    text = people.get(str(value), str(value))
    return text.replace("_", " ") if _NAME.fullmatch(text) else text


def people_in(rows: list[AuditLogRow]) -> list[str]:
    """Ids of persons that these rows speak of, to be looked up together."""
    found = {row.actor.removeprefix("person/") for row in rows if row.actor.startswith("person/")}
    for row in rows:
        if row.action.startswith("team."):
            found.add(row.subject)
        values = msgspec.json.decode(row.details).values()
        found |= {one.removeprefix("person/") for one in values if isinstance(one, str) and one.startswith("person/")}
    return sorted(found)
