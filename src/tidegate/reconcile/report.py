"""The result of a comparison: counts, sums on both sides, and advice for each finding."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from tidegate.core.money import Currency
from tidegate.infra.timestamp import to_iso
from tidegate.reconcile.model import (
    Balance,
    BreakExplanation,
    Direction,
    Discrepancy,
    DiscrepancyKind,
    Movement,
    MovementStatus,
    RailLine,
    ReconcilePeriod,
)

ADVICE: dict[DiscrepancyKind, str] = {
    DiscrepancyKind.MISSING: "ask the rail to send its notification again; until then it is not credited or debited",
    DiscrepancyKind.EXTRA: "ask the rail where this money is; it moved according to our books",
    DiscrepancyKind.AMOUNT: "ask the rail which amount is right; the amount in our books was credited or debited",
    DiscrepancyKind.CURRENCY: "ask the rail which currency is right; the credited amount may be worth more or less",
    DiscrepancyKind.DIRECTION: "ask the rail which direction is right; if the rail's is, the books are off by twice it",
    DiscrepancyKind.DUPLICATE: "ask the rail whether it is listed twice or moved twice; our books have it once",
    DiscrepancyKind.EDGE: "check the neighbouring statement: it is close to an end of the period",
    DiscrepancyKind.UNCONFIRMED: "wait: the rail has sent it and not yet notified us; ask the rail if it stays so",
    DiscrepancyKind.UNLISTED: "compare it with the rail's settlement report: its list has no money that was taken back",
}
_ADVICE_IF_FAILED = "do not repeat this refund: it failed in our books, and the rail lists it as sent"

_Place = tuple[str, Direction]


class DiscrepancySum(msgspec.Struct, frozen=True, kw_only=True):
    """Of the period. Unmatched movements at its ends are on neither side."""

    currency: str
    direction: Direction
    rail: Decimal
    books: Decimal

    @property
    def difference(self) -> Decimal:
        return self.rail - self.books


class Report(msgspec.Struct, frozen=True, kw_only=True):
    rail: str
    period: ReconcilePeriod
    lines: int
    # Lines of the file outside the period.
    lines_outside: int
    matched: int
    findings: Sequence[Discrepancy]
    sums: Sequence[DiscrepancySum]
    balances: Sequence[Balance]

    @property
    def breaks(self) -> list[Discrepancy]:
        """The unexplained first."""
        found = [finding for finding in self.findings if finding.kind.is_break]
        return sorted(found, key=lambda finding: finding.explanation is not None)

    @property
    def unexplained(self) -> list[Discrepancy]:
        return [finding for finding in self.breaks if finding.explanation is None]

    @property
    def notices(self) -> list[Discrepancy]:
        return [finding for finding in self.findings if not finding.kind.is_break]

    @property
    def agrees(self) -> bool:
        return not self.unexplained and all(balance.agrees for balance in self.balances)


def sums_of(lines: Iterable[RailLine], findings: Iterable[Discrepancy]) -> list[DiscrepancySum]:
    """Matched lines are the same on both sides, so our side is the rail's, corrected by the findings."""
    rail: defaultdict[_Place, Decimal] = defaultdict(Decimal)
    for line in lines:
        rail[line.currency, line.direction] += line.amount
    books = rail.copy()
    for finding in findings:
        if finding.kind.is_break:
            _undo(books, finding)
    return [
        DiscrepancySum(currency=place[0], direction=place[1], rail=rail[place], books=books[place])
        for place in sorted(rail.keys() | books.keys())
    ]


def _undo(books: defaultdict[_Place, Decimal], finding: Discrepancy) -> None:
    line, movement = finding.line, finding.movement
    if line is not None:
        books[line.currency, line.direction] -= line.amount
    # The movement of a duplicate is counted with its matched line, and a failed one is not in the books.
    if (
        movement is not None
        and movement.status is not MovementStatus.FAILED
        and finding.kind is not DiscrepancyKind.DUPLICATE
    ):
        books[movement.amount.currency, movement.direction] += movement.amount.major


def advice_on(finding: Discrepancy) -> str:
    if finding.movement is not None and finding.movement.status is MovementStatus.FAILED:
        return _ADVICE_IF_FAILED
    return ADVICE[finding.kind]


def to_json(report: Report) -> dict[str, Any]:
    counts = Counter(finding.kind for finding in report.findings)
    return {
        "rail": report.rail,
        "from": report.period.first.isoformat(),
        "to": report.period.last.isoformat(),
        "agrees": report.agrees,
        "lines": report.lines,
        "linesOutsidePeriod": report.lines_outside,
        "matched": report.matched,
        "explained": len(report.breaks) - len(report.unexplained),
        "counts": {kind.value: counts[kind] for kind in DiscrepancyKind},
        "sums": [
            {
                "currency": each.currency,
                "direction": each.direction.value,
                "rail": plain(each.rail, each.currency),
                "books": plain(each.books, each.currency),
                "difference": plain(each.difference, each.currency),
            }
            for each in report.sums
        ],
        "ledger": [
            {
                "currency": each.moved.currency.value,
                "moved": plain(each.moved.major, each.moved.currency),
                "ledger": plain(each.ledger.major, each.moved.currency),
                "agrees": each.agrees,
            }
            for each in report.balances
        ],
        "breaks": [_finding_json(finding) for finding in report.breaks],
        "notices": [_finding_json(finding) for finding in report.notices],
    }


def plain(amount: Decimal, currency: str) -> str:
    """With the currency's decimals; a statement may have more, and currencies that are not ours."""
    decimals = Currency(currency).exponent if currency in list(Currency) else 2
    return f"{amount:.{decimals}f}" if amount == round(amount, decimals) else f"{amount:f}"


def _finding_json(finding: Discrepancy) -> dict[str, Any]:
    line, movement = finding.line, finding.movement
    return {
        "class": finding.kind.value,
        "line": line.number if line else None,
        "transactionId": identifier_of(finding),
        "rail": _line_json(line) if line else None,
        "books": _movement_json(movement) if movement else None,
        "advice": advice_on(finding),
        "explanation": _explanation_json(finding.explanation) if finding.explanation else None,
    }


def identifier_of(finding: Discrepancy) -> str:
    if finding.line is not None:
        return finding.line.transaction_id
    assert finding.movement is not None
    return finding.movement.transaction_id or finding.movement.reference or ""


def moment_of(finding: Discrepancy) -> datetime:
    if finding.line is not None:
        return finding.line.booked_at
    assert finding.movement is not None
    return finding.movement.at


def _explanation_json(explanation: BreakExplanation) -> dict[str, Any]:
    return {"note": explanation.note, "by": explanation.by, "at": to_iso(explanation.at)}


def _line_json(line: RailLine) -> dict[str, Any]:
    return {
        "direction": line.direction.value,
        "amount": plain(line.amount, line.currency),
        "currency": line.currency,
        "bookedAt": to_iso(line.booked_at),
        "reference": line.reference,
        "description": line.description,
    }


def _movement_json(movement: Movement) -> dict[str, Any]:
    return {
        "kind": movement.kind,
        "direction": movement.direction.value,
        "amount": plain(movement.amount.major, movement.amount.currency),
        "currency": movement.amount.currency.value,
        "recordedAt": to_iso(movement.at),
        "status": movement.status.value,
        "reference": movement.reference,
        "businessId": movement.business_id,
        "subject": movement.subject,
    }
