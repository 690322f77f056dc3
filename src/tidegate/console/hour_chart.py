"""Payments of the last hours as SVG: bars on a zero line, times below, numbers on the most and the last. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

WIDTH, HEIGHT = 640, 150
_BOTTOM, _TOP = 26, 24
# Of the hours, which have their time below.
_TIMED_EVERY = 6


def draw(payments: Sequence[int], starts: Sequence[str], sentence: str) -> Markup:
    """`starts` are the times at which the hours begin; the last one lasts until now."""
    most, step, base = max(*payments, 1), WIDTH / len(payments), HEIGHT - _BOTTOM
    highest, last = payments.index(max(payments)), len(payments) - 1
    parts = []
    for at, number in enumerate(payments):
        tall = (base - _TOP) * number // most
        parts.append(_bar(at * step + 2, step - 4, base - tall, tall, is_last=at == last))
        if number and at in (highest, last):
            parts.append(_text("value", *_place(at, last, step), base - tall - 6, f"{number:,}"))
        if at % _TIMED_EVERY == 0:
            parts.append(_text("", at * step + 2, "start", HEIGHT - 6, starts[at]))
    parts.append(_text("", WIDTH, "end", HEIGHT - 6, "now"))
    return Markup(
        '<svg class="chart" viewBox="0 0 {w} {h}" role="img" aria-label="{sentence}"><title>{sentence}</title>{parts}'
        '<line class="base" x1="0" x2="{w}" y1="{y}" y2="{y}"/></svg>'
    ).format(w=WIDTH, h=HEIGHT, sentence=sentence, parts=Markup("").join(parts), y=base)


def _place(at: int, last: int, step: float) -> tuple[float, str]:
    """Of a number above its bar: within the picture at both ends."""
    if at == last:
        return WIDTH, "end"
    return (0, "start") if at == 0 else (at * step + step / 2, "middle")


def _bar(x: float, wide: float, y: int, tall: int, *, is_last: bool) -> Markup:
    shape = Markup('<rect class="bar" x="{x:.1f}" y="{y}" width="{w:.1f}" height="{h}"/>')
    drawn = shape.format(x=x, y=y, w=wide, h=tall)
    return Markup('<g class="now">{bar}</g>').format(bar=drawn) if is_last else drawn


def _text(kind: str, x: float, anchor: str, y: int, text: str) -> Markup:
    shape = Markup('<text class="{kind}" x="{x:.1f}" y="{y}" text-anchor="{anchor}">{text}</text>')
    return shape.format(kind=kind, x=x, y=y, anchor=anchor, text=text)
