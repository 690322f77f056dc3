"""Rows of the audit trail in plain words, as the staff read them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidegate.audit.chain_store import AuditRow
from tidegate.dashboard.audit_words import ACTIONS, STEPS
from tidegate.member.permission import Permission
from tidegate.staff.permission import StaffPermission

# Of Tidegate's own business, which has no dashboard; and what the staff read in other words than the merchant.
_OF_STAFF = {
    "audit.exported": "exported the audit trail",
    "bank.recorded": "recorded an entry of a bank's file",
    "bank.settled": "settled an entry of a bank's file",
    "bank.taken_back": "took back the credit of an entry of a bank's file",
    "books.exported": "exported the books",
    "break.explained": "explained a difference to a rail's statement",
    "business.viewed": "looked at the merchant's dashboard",
    "job.run": "asked for a round of the job",
    "merchant.settings.proposed": "proposed to change the merchant's settings",
    "quarantine.closed": "closed a notification in quarantine",
    "rail.paused": "paused the rail",
    "rail.resumed": "let the rail be used again",
    "staff.added": "added to the staff",
    "staff.removed": "took the access of",
    "suspense.assigned": "gave money without an owner to the merchant",
}
_COMMANDS = {
    "bank.record": "to record an entry of a bank's file",
    "bank.settle": "to settle an entry of a bank's file",
    "bank.take_back": "to take back the credit of an entry of a bank's file",
    "payer.erase": "to erase a payer's personal data,",
    "person.reset": "to remove the second factors of",
    "quarantine.close": "to close a notification in quarantine",
    "rail.resume": "to let the rail be used again",
    "rate.import": "to set the rates of a file",
    "rate.set": "to set the rate of",
    "staff.add": "to add to the staff",
    "staff.remove": "to take the access of",
}
WORDS = (
    {action: words.what for action, words in ACTIONS.items()}
    | {f"{command}.{step}": f"{verb} {words}" for command, words in _COMMANDS.items() for step, verb in STEPS.items()}
    | _OF_STAFF
)
_RIGHTS: dict[str, str] = {one.name.lower(): one.value for one in (*Permission, *StaffPermission)}


def words_of(row: AuditRow) -> str:
    words = WORDS.get(row.action) or row.action.replace(".", ": ").replace("_", " ")
    return words[0].upper() + words[1:]


def subject_of(row: AuditRow, names: Mapping[str, str]) -> str:
    if row.action == "access.denied":
        return _RIGHTS.get(row.subject, row.subject)
    return names.get(row.subject, row.subject)


def people_in(rows: Sequence[AuditRow]) -> list[str]:
    """Ids of the merchants' people who did these, to be looked up together."""
    return sorted({row.actor.removeprefix("person/") for row in rows if row.actor.startswith("person/")})


def who_of(row: AuditRow, names: Mapping[str, str]) -> str:
    kind, _, number = row.actor.partition("/")
    known = {
        "operator": number or "Command line",
        "tidegate": "Tidegate",
        "key": f"API key {number}",
        "person": "A former member",
    }
    return names.get(row.actor) or known.get(kind, row.actor)
