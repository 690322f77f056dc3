"""The growth lines for people, and as JSON."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from bench.growth import AIM, DEEP_AIM_S, Grown, Growth
from bench.growth_questions import PER_PAGE
from tidegate.infra.http.paging import ROWS_BY_NUMBER_MAX


def table_of(growth: Growth) -> Table:
    small, large = growth.small, growth.large
    table = Table(title=f"Growth: {large.rows:,} inflows, {large.account_rows:,} of one account, over {small.rows:,}")
    table.add_column("listing")
    for name in (f"{small.rows:,}", f"{large.rows:,}", "ratio", "spread", "aim"):
        table.add_column(name, justify="right")
    for one in growth.grown:
        table.add_row(
            f"[bold]{one.question.name}[/]: {one.question.description}",
            f"{one.small_p50_s * 1000:.2f} ms",
            f"{one.large_p50_s * 1000:.2f} ms",
            f"[bold {_colour(one.ratio <= AIM)}]{one.ratio:.2f}[/]",
            f"{min(one.ratios):.2f}..{max(one.ratios):.2f}",
            f"{AIM:.2f}",
        )
    last = ROWS_BY_NUMBER_MAX // PER_PAGE
    table.caption = (
        f"page {last:,} of the account by its number: [{_colour(growth.deep_p50_s <= DEEP_AIM_S)}]"
        f"{growth.deep_p50_s * 1000:.0f} ms[/], aim {DEEP_AIM_S * 1000:.0f} ms; page {last + 1:,} is refused, and told"
        " to go on with the cursor"
    )
    return table


def as_json(growth: Growth) -> dict[str, Any]:
    return {
        "small_rows": growth.small.rows,
        "large_rows": growth.large.rows,
        "account_rows": growth.large.account_rows,
        "aim": AIM,
        "questions": [_as_json(one) for one in growth.grown],
        "deep_page": {"aim_s": DEEP_AIM_S, "p50_s": growth.deep_p50_s, "all": growth.deep_s},
    }


def _as_json(one: Grown) -> dict[str, Any]:
    return {
        "name": one.question.name,
        "description": one.question.description,
        "ratio": round(one.ratio, 4),
        "ratios": [round(ratio, 4) for ratio in one.ratios],
        "small_p50_s": one.small_p50_s,
        "large_p50_s": one.large_p50_s,
    }


def _colour(is_good: bool) -> str:
    return "green" if is_good else "yellow"
