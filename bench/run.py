"""Everything that one run of the benchmark found, and what of it is not as it should be."""

from __future__ import annotations

from dataclasses import dataclass

from bench.cpu import QUIET_SHARE
from bench.delay import Waited
from bench.finding import Section
from bench.growth import AIM as GROWTH_AIM
from bench.growth import Growth
from bench.machine import Machine
from bench.result import Result, Verdict, judge
from bench.stage import Options


@dataclass(frozen=True)
class Run:
    machine: Machine
    options: Options
    results: list[Result]
    waited: list[Waited]
    sections: list[Section]
    grown: Growth | None

    @property
    def verdicts(self) -> list[Verdict]:
        return judge(self.results)

    @property
    def others_share(self) -> float:
        """Of the machine's CPU, used by strangers in the worst round."""
        return max((result.others_share for result in self.results), default=0.0)

    @property
    def notes(self) -> list[str]:
        """What must be known to believe the ratios."""
        notes = [
            f"{one.name} reaches {one.own_ratio:.2f} of its own yardstick: {one.own_yardstick}."
            for one in self.verdicts
            if one.own_ratio is not None
        ]
        if self.others_share > QUIET_SHARE:
            notes.append(
                f"Others used up to {self.others_share:.0%} of the machine meanwhile: the ratios are guesses."
                " --patience waits for quiet."
            )
        return notes

    @property
    def misses(self) -> list[str]:
        """In words, one for each aim that is not reached."""
        return [
            *(f"{one.name}: {one.ratio:.2f}, target {one.target:.2f}" for one in self.verdicts if _is_missed(one)),
            *(
                f"{one.delay.name}: {one.p50_s * 1000:,.0f} ms, aim {one.delay.aim_s * 1000:,.0f} ms"
                for one in self.waited
                if one.p50_s > one.delay.aim_s
            ),
            *(
                f"{section.name}, {one.what}: {one.measured_text}, aim {one.aim_text}"
                for section in self.sections
                for one in section.findings
                if one.is_reached is False
            ),
            *(
                f"growth, {one.question.name}: {one.ratio:.2f}, aim {GROWTH_AIM:.2f}"
                for one in (self.grown.grown if self.grown else [])
                if one.ratio > GROWTH_AIM
            ),
        ]


def _is_missed(verdict: Verdict) -> bool:
    return verdict.is_reached is False
