"""The ratios as a picture: a bar for each line as long as its ratio is of its target, in SVG written by hand.

The targets differ, so every bar is drawn in shares of its own: what reaches the one upright line has reached it.
"""

from __future__ import annotations

from html import escape

from bench.machine import Machine
from bench.result import Verdict

WIDTH = 960
MARGIN = 32
HEAD = 112
ROW = 52
FOOT = 56
BAR = 18
LABELS = 292
NUMBERS = 120
# The axis ends here at least, in shares of the target, so that the target has room on its right.
SHARE_MIN = 1.25
# Whatever is farther is cut, with a sign of it.
SHARE_MAX = 2.0
OVER_LENGTH_MAX = 44
_LEFT = MARGIN + LABELS
_RIGHT = WIDTH - MARGIN - NUMBERS

_STYLE = """
  :root { --ground: #ffffff; --ink: #17211f; --quiet: #61706c; --track: #eef2f1; --line: #17211f;
          --good: #12866a; --short: #c0650a; --whisker: #17211f; }
  @media (prefers-color-scheme: dark) {
    :root { --ground: #0f1614; --ink: #e8efed; --quiet: #93a39e; --track: #1c2624; --line: #e8efed;
            --good: #35c79c; --short: #f0a243; --whisker: #e8efed; }
  }
  text { font-family: ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--ink); }
  .title { font-size: 20px; font-weight: 650; }
  .name { font-size: 15px; font-weight: 600; }
  .ratio { font-size: 17px; font-weight: 650; font-variant-numeric: tabular-nums; }
  .quiet { font-size: 12.5px; fill: var(--quiet); font-variant-numeric: tabular-nums; }
  .ground { fill: var(--ground); } .track { fill: var(--track); }
  .good { fill: var(--good); } .short { fill: var(--short); }
  .whisker { stroke: var(--whisker); stroke-width: 1.5; stroke-linecap: round; }
  .gap { stroke: var(--ground); stroke-width: 3; }
  .halo { stroke: var(--ground); stroke-width: 4.5; stroke-linecap: round; opacity: .55; }
  .target { stroke: var(--line); stroke-width: 1.5; stroke-dasharray: 2 4; stroke-linecap: round; }
"""


def svg_of(verdicts: list[Verdict], machine: Machine) -> str:
    judged = [one for one in verdicts if one.target]
    height = HEAD + ROW * len(judged) + FOOT
    scale = _Scale(judged)
    at = scale.x(1.0)
    bottom = HEAD + ROW * len(judged)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        ' aria-labelledby="title desc">',
        f'<title id="title">How fast Tidegate is</title><desc id="desc">{escape(_in_words(judged))}</desc>',
        f"<style>{_STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}" rx="14"/>',
        f'<text class="title" x="{MARGIN}" y="{MARGIN + 16}">How fast Tidegate is, beside what it is built on</text>',
        f'<text class="quiet" x="{MARGIN}" y="{MARGIN + 38}">Rate over that of the yardstick, measured in turn in the'
        " same run. Bar: median. Whisker: slowest and fastest round.</text>",
        f'<text class="quiet" x="{at:.1f}" y="{HEAD - 12}" text-anchor="middle">target</text>',
        *(_row(one, HEAD + ROW * number, scale) for number, one in enumerate(judged)),
        f'<line class="target" x1="{at:.1f}" y1="{HEAD - 4}" x2="{at:.1f}" y2="{bottom - 4}"/>',
        f'<text class="quiet" x="{MARGIN}" y="{height - 24}">{escape(_foot(machine))}</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


class _Scale:
    """From shares of a target to places on the picture."""

    def __init__(self, judged: list[Verdict]) -> None:
        most = max((one.spread[1] / (one.target or 1.0) for one in judged), default=1.0)
        self.end = min(max(most * 1.04, SHARE_MIN), SHARE_MAX)

    def x(self, share: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * min(share, self.end) / self.end

    def is_cut(self, share: float) -> bool:
        return share > self.end


def _row(one: Verdict, top: int, scale: _Scale) -> str:
    target = one.target or 1.0
    middle = top + ROW // 2 - 4
    share = one.ratio / target
    low, high = (scale.x(ratio / target) for ratio in one.spread)
    end = scale.x(share)
    colour = "good" if one.is_reached else "short"
    y = middle - BAR // 2
    numbers = _RIGHT + 16
    mark = "✓" if one.is_reached else "✗"
    parts = [
        f'<text class="name" x="{MARGIN}" y="{middle - 2}">{escape(one.name)}</text>',
        f'<text class="quiet" x="{MARGIN}" y="{middle + 15}">{escape(_shortened(f"over {one.over}"))}</text>',
        f'<rect class="track" x="{_LEFT}" y="{y}" width="{_RIGHT - _LEFT}" height="{BAR}" rx="4"/>',
        f'<rect class="{colour}" x="{_LEFT}" y="{y}" width="{end - _LEFT:.1f}" height="{BAR}" rx="4"/>',
        *(_break(end, middle) if scale.is_cut(share) else _whisker(low, high, middle)),
        f'<text class="ratio" x="{numbers}" y="{middle + 1}">{one.ratio:.2f}</text>',
        f'<text class="quiet" x="{numbers}" y="{middle + 17}">{mark} target ≥ {target:.2f}</text>',
    ]
    return "\n".join(parts)


def _whisker(low: float, high: float, y: int) -> list[str]:
    """Twice, the first time wide and pale, so that it is seen on any bar."""
    lines = ((low, y, high, y), (low, y - 4, low, y + 4), (high, y - 4, high, y + 4))
    return [
        f'<line class="{kind}" x1="{x1:.1f}" y1="{y1}" x2="{x2:.1f}" y2="{y2}"/>'
        for kind in ("halo", "whisker")
        for x1, y1, x2, y2 in lines
    ]


def _break(end: float, y: int) -> list[str]:
    """The bar goes on beyond the picture."""
    return [f'<path class="gap" d="M{end - at} {y - BAR // 2 - 3} l-8 {BAR + 6}"/>' for at in (30, 24)]


def _shortened(text: str) -> str:
    return text if len(text) <= OVER_LENGTH_MAX else text[: OVER_LENGTH_MAX - 1].rstrip(" ,") + "…"


def _foot(machine: Machine) -> str:
    return (
        f"{machine.at[:10]} · {machine.cpu}, {machine.cores} cores · PostgreSQL {machine.postgresql},"
        f" fsync {machine.fsync} · Python {machine.python} · API, worker, PostgreSQL and load on one machine"
    )


def _in_words(judged: list[Verdict]) -> str:
    return ". ".join(f"{one.name}: {one.ratio:.2f} of {one.over}, target {one.target:.2f}" for one in judged)
