"""What a run with `--goals` goes on for: faults that happened, not those that were asked for."""

from __future__ import annotations

from chaos.deployment import KILLED_POSTGRES, KILLED_PROCESSES, Deployment

COMMITS_CUT = "cuts at COMMIT"
GOALS = {KILLED_PROCESSES: 200, KILLED_POSTGRES: 50, COMMITS_CUT: 1_000}
# A machine that needs longer shows nothing.
REACHED_WITHIN_S = 8 * 3600.0


def words() -> list[str]:
    return [f"{goal:,} {what}" for what, goal in GOALS.items()]


def reached(deployment: Deployment) -> dict[str, int]:
    cuts = sum(proxy.cuts.total() for proxy in deployment.proxies.values())
    counts = deployment.killed | {COMMITS_CUT: cuts}
    return {what: counts.get(what, 0) for what in GOALS}


def are_reached(deployment: Deployment) -> bool:
    return all(count >= GOALS[what] for what, count in reached(deployment).items())


def progress(deployment: Deployment) -> str:
    return ", ".join(f"{count} of {GOALS[what]} {what}" for what, count in reached(deployment).items())
