"""A way to ask for the prompt or code that the payer waits for once more."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from tidegate.checkout.page import values
from tidegate.checkout.page.scene import Resend
from tidegate.checkout.page.sketch import Sketch

COUNTDOWN = Markup('<b role="timer" data-countdown="{}">{}</b>')


@dataclass(frozen=True)
class Again:
    label: str
    busy: str
    # While it is too early: when it may be asked for. Once it was sent as often as possible: what to do instead.
    wait: Markup | None
    instead: str | None


def again_of(sketch: Sketch, *, label: str, busy: str, instead: str) -> Again | None:
    """None where the rail cannot send it again."""
    tried = sketch.shape.tried
    if tried is None or tried.resend is Resend.NEVER:
        return None
    wait = None
    if tried.resend is Resend.LATER:
        countdown = COUNTDOWN.format(sketch.own(values.resend_in_s), sketch.own(values.resend_in))
        wait = sketch.words.rich("resend.wait", time=countdown)
    return Again(label, busy, wait, instead if tried.resend is Resend.NO_MORE else None)
