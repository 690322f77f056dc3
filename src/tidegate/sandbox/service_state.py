"""What the start page says about the parts of the sandbox. Pure."""

from __future__ import annotations

from dataclasses import dataclass

# The quickest loop has ten rounds a second, and a busy machine is slower.
WORKER_IDLE_MAX_S = 10.0


@dataclass(frozen=True)
class PartState:
    words: str
    is_well: bool = True
    # What to type where something is missing.
    command: str = ""


def worker_state(idle_s: float | None) -> PartState:
    """By the time since its last finished round; None before the first."""
    if idle_s is None:
        return PartState("Worker is starting", is_well=False)
    if idle_s > WORKER_IDLE_MAX_S:
        return PartState(f"Worker idle for {idle_s:.0f} s: see the sandbox's terminal", is_well=False)
    return PartState("Worker running")


def receiver_state(*, enabled: int, failing: int) -> PartState:
    if not enabled:
        return PartState("Webhooks: no receiver yet, start", is_well=False, command="tidegate listen")
    if failing:
        return PartState(f"Webhooks: {failing} of {enabled} receivers failing", is_well=False)
    return PartState(f"Webhooks: {enabled} receiver{'s' if enabled > 1 else ''}")
