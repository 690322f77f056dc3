"""Bars of the last days as SVG: links with names, a scale, direct labels; and a strip of the last hours. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from tidegate.core.money import Money
from tidegate.dashboard.format import amount

WIDTH, HEIGHT = 640, 200
_LEFT, _BOTTOM, _TOP = 52, 24, 22


@dataclass(frozen=True)
class DayBar:
    label: str
    # For the name of the bar, such as Monday, 16 November.
    title: str
    money: Money
    href: str


def bars(days: Sequence[DayBar]) -> Markup:
    """The last bar is today's; the highest and the last carry their amount."""
    top = _nice(max((day.money.minor for day in days), default=0))
    step = (WIDTH - _LEFT) / max(len(days), 1)
    highest = max(range(len(days)), key=lambda at: days[at].money.minor, default=-1)
    parts = [_scale(top, days[0].money) if days else Markup("")]
    for at, day in enumerate(days):
        is_last = at == len(days) - 1
        tall = (HEIGHT - _BOTTOM - _TOP) * day.money.minor // top if top else 0
        parts.append(
            _bar(day, at, step, tall, is_last=is_last, is_labelled=day.money.minor > 0 and (is_last or at == highest))
        )
    return Markup(
        '<svg class="chart" viewBox="0 0 {w} {h}" role="group" aria-label="Taken by day">{parts}</svg>'
    ).format(w=WIDTH, h=HEIGHT, parts=Markup("").join(parts))


STRIP_WIDTH, STRIP_HEIGHT = 240, 36


class HourBar(NamedTuple):
    """Parts of what was sent in an hour; drawn one on the other, the failed ones at the foot."""

    bad: int
    bar: int
    wait: int


def strip(hours: Sequence[HourBar], sentence: str) -> Markup:
    most = max((sum(hour) for hour in hours), default=0)
    step = STRIP_WIDTH / max(len(hours), 1)
    bars = Markup("").join(_hour(hour, at * step, step - 2, most) for at, hour in enumerate(hours))
    return Markup(
        '<svg class="hours" viewBox="0 0 {w} {h}" preserveAspectRatio="none" role="img" aria-label="{sentence}">'
        "<title>{sentence}</title>{bars}</svg>"
    ).format(w=STRIP_WIDTH, h=STRIP_HEIGHT, sentence=sentence, bars=bars)


def _hour(hour: HourBar, left: float, wide: float, most: int) -> Markup:
    """An hour without events has a foot, so that the strip reads as one; a single failure is seen among many."""
    shape = Markup('<rect class="{kind}" x="{x:.1f}" y="{y}" width="{w:.1f}" height="{h}"/>')
    at, room = STRIP_HEIGHT - 2, STRIP_HEIGHT - 8
    parts = [shape.format(kind="foot", x=left, y=at, w=wide, h=2)]
    for kind, count in hour._asdict().items():
        if count:
            tall = max(room * count // most, 2)
            at -= tall
            parts.append(shape.format(kind=kind, x=left, y=at, w=wide, h=tall))
    return Markup("").join(parts)


def _bar(day: DayBar, at: int, step: float, tall: int, *, is_last: bool, is_labelled: bool) -> Markup:
    left = _LEFT + at * step + step * 0.18
    wide, base = step * 0.64, HEIGHT - _BOTTOM
    middle = left + wide / 2
    anchor = "end" if is_last else "middle"
    place = left + wide if is_last else middle
    label = Markup('<text x="{x:.1f}" y="{y}" text-anchor="{a}">{text}</text>').format(
        x=place, y=HEIGHT - 6, text=day.label, a=anchor
    )
    value = Markup('<text class="value" x="{x:.1f}" y="{y}" text-anchor="{a}">{text}</text>').format(
        x=place, y=base - tall - 6, text=_short(day.money), a=anchor
    )
    shape = Markup('<rect class="bar" x="{x:.1f}" y="{y}" width="{w:.1f}" height="{h}" rx="3"/>').format(
        x=left, y=base - tall, w=wide, h=tall
    )
    link = Markup('<a href="{href}" aria-label="{title}: {money}"{now}>{shape}</a>').format(
        href=day.href,
        title=day.title,
        money=amount(day.money),
        shape=shape,
        now=Markup(' class="now"') if is_last else "",
    )
    shown = label if day.label else Markup("")
    return link + (value if is_labelled else Markup("")) + shown


def _scale(top: int, like: Money) -> Markup:
    lines = Markup("")
    for part in range(4):
        y = HEIGHT - _BOTTOM - (HEIGHT - _BOTTOM - _TOP) * part // 3
        kind = "base" if part == 0 else "grid"
        text = _short(Money(top * part // 3, like.currency), with_sign=False)
        lines += Markup('<line class="{kind}" x1="{left}" x2="{w}" y1="{y}" y2="{y}"/>').format(
            kind=kind, left=_LEFT, w=WIDTH, y=y
        )
        lines += Markup('<text x="{x}" y="{y}" text-anchor="end">{text}</text>').format(x=_LEFT - 8, y=y + 4, text=text)
    return lines


def _nice(minor: int) -> int:
    """The next number that divides well by three."""
    unit = 3
    while unit < minor:
        for factor in (2, 5, 10):
            if unit * factor >= minor:
                return unit * factor
        unit *= 10
    return unit


def _short(money: Money, *, with_sign: bool = True) -> str:
    major = money.minor // money.currency.minor_per_major
    sign = money.currency.spec.sign if with_sign else ""
    for size, letter in ((1_000_000_000, "bn"), (1_000_000, "m"), (1_000, "k")):
        if major >= size:
            tenths = major * 10 // size
            return (
                f"{sign}{tenths // 10}.{tenths % 10}{letter}"
                if tenths < 100 and tenths % 10
                else f"{sign}{tenths // 10}{letter}"
            )
    return f"{sign}{major}"
