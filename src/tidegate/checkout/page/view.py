"""The whole page, ready to be laid out: templates only loop and choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tidegate.checkout.model import NO_MOVEMENTS, TakenAs
from tidegate.checkout.page import values
from tidegate.checkout.page.ending import Ending, ending_of, movements_of
from tidegate.checkout.page.look import Look
from tidegate.checkout.page.panel import Account, Panel, account_of, panels_of
from tidegate.checkout.page.price import Price, price_at_the_end, prices_of
from tidegate.checkout.page.question import Question, question_of, tries_of
from tidegate.checkout.page.scene import ENDINGS, Scene, Step
from tidegate.checkout.page.shape import Shape
from tidegate.checkout.page.shell import Shell, Shop, shell_of, shop_of
from tidegate.checkout.page.sketch import Sketch

# Money that goes back moves without the payment changing, and nobody pushes the news of an ended payment.
RETURN_POLL_S = 15
# Without script the page loads itself again this often while it waits.
REFRESH_EVERY_S = 10
EVENTS_PATH = "/checkout/payments"
EXTENDED = "notice.extended"

_TEMPLATES: dict[Scene, str] = {
    Scene.CHOOSE: "choose.html",
    Scene.SHORT: "short.html",
    Scene.PIN: "question.html",
    Scene.OTP: "question.html",
    Scene.ADDRESS: "question.html",
    Scene.ISSUER: "issuer.html",
    Scene.WORKING: "working.html",
    **dict.fromkeys(ENDINGS, "ending.html"),
}
_QUESTIONS = frozenset({Scene.PIN, Scene.OTP, Scene.ADDRESS})


@dataclass(frozen=True)
class Short:
    account: Account
    received: str
    lead: str
    bar_label: str
    percent: int


@dataclass(frozen=True)
class Filled:
    """What the payer sent and what is wrong with it, to be shown again. Never the security code, PIN or OTP."""

    values: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    # A sentence above it all.
    notice: str | None = None


@dataclass(frozen=True, kw_only=True)
class Page:
    shell: Shell
    shop: Shop
    template: str
    scene: Scene
    # The method that is selected.
    chosen: str
    here: str
    # A code that a phone can scan, while there is something left to do.
    qr_url: str | None
    version: str
    # Differs whenever the page shows something else.
    mark: str
    token: str
    # Where news of the payment comes from; nothing when it can have none.
    watch: str
    poll_s: int
    order_line: str
    description: str | None
    prices: tuple[Price, ...]
    panels: tuple[Panel, ...]
    question: Question | None
    # Why the bank asks once more.
    problem: str | None
    issuer_url: str | None
    back_href: str
    short: Short | None
    ending: Ending | None
    values: Mapping[str, str]
    errors: Mapping[str, str]
    notice: str | None
    # Of the bank's page: how many answers are left.
    tries: str | None
    # Money of this payer that goes back, while the payment is still open.
    returns: tuple[str, ...]
    simulator: Any = None

    def is_selected(self, method: str) -> bool:
        return self.chosen == method


@dataclass(frozen=True)
class Special:
    """What a few pages have, and no two alike: drawn anew each time."""

    ending: Ending | None = None
    price: Price | None = None
    short: Short | None = None
    # Money of this payer that goes back, while the payment is still open.
    returns: tuple[str, ...] = ()
    filled: Filled = Filled()


NOTHING_SPECIAL = Special()


def special_of(look: Look, sketch: Sketch, filled: Filled | None = None) -> Special:
    filled = filled or Filled()
    if look.scene in ENDINGS:
        return Special(ending_of(look, sketch), price_at_the_end(sketch, look), filled=filled)
    short = _short(look, sketch) if look.scene is Scene.SHORT else None
    return Special(short=short, returns=tuple(movements_of(look)), filled=filled)


def is_special(look: Look) -> bool:
    return look.scene in ENDINGS or look.scene is Scene.SHORT or look.movements is not NO_MOVEMENTS


def page_of(
    sketch: Sketch, special: Special = NOTHING_SPECIAL, *, notice: str | None = None, simulator: Any = None
) -> Page:
    shape, words, own = sketch.shape, sketch.words, sketch.own
    problem = shape.tried.problem if shape.tried else None
    return Page(
        shell=shell_of(sketch, is_over=special.ending is not None, refresh=_refresh(shape, special.ending)),
        shop=shop_of(sketch),
        template=_TEMPLATES[shape.scene],
        scene=shape.scene,
        chosen=shape.chosen.value,
        here=sketch.here,
        qr_url=None if shape.scene in ENDINGS else f"{sketch.here}/qr.svg",
        version=own(values.version),
        # Time alone closes an account, and money arrives at the payer's bank, without any change of the payment. Which
        # tab is open does not count: the script changes tabs without asking.
        mark=f"{own(values.version)}-{shape.scene}-{shape.step}-{shape.sent_back}",
        token=own(values.token),
        watch="" if not shape.is_watched else sketch.site.url(f"{EVENTS_PATH}/{own(values.pay_code)}/events"),
        poll_s=RETURN_POLL_S if shape.may_move_unseen else 0,
        order_line=words("summary.order", reference=own(values.reference)),
        description=own(values.description) if shape.has_description else None,
        prices=(special.price,) if special.price else prices_of(sketch),
        panels=panels_of(sketch) if shape.scene is Scene.CHOOSE else (),
        question=question_of(sketch) if shape.scene in _QUESTIONS else None,
        # words: failure.wrong_pin, failure.wrong_otp, failure.wrong_address
        problem=words(f"failure.{problem}") if problem else None,
        issuer_url=own(values.issuer_url) if shape.scene is Scene.ISSUER else None,
        back_href=f"{sketch.method_href(shape.chosen)}&again=1",
        short=special.short,
        ending=special.ending,
        values=special.filled.values,
        errors=special.filled.errors,
        notice=special.filled.notice or (_notice(sketch, notice) if notice else None),
        tries=tries_of(sketch) if shape.scene is Scene.ISSUER and problem else None,
        returns=special.returns,
        simulator=simulator,
    )


def _notice(sketch: Sketch, key: str) -> str | None:
    """What became of the last thing the payer asked for."""
    tried = sketch.shape.tried
    if key != EXTENDED:
        return sketch.words(key)  # words: notice.changed, notice.refused, notice.soon
    if tried is None or tried.step is not Step.ACCOUNT:
        return None
    time = sketch.time(values.closes_iso, values.closes_time)
    # words: notice.extended, notice.extended_last
    return sketch.words.rich(f"{key}_last" if tried.closes_last else key, time=time)


def _short(look: Look, sketch: Sketch) -> Short:
    payment = look.situation.payment
    arrived = [money for money in look.movements.receipts if money.taken is TakenAs.HELD]
    at = arrived[-1].at if arrived else payment.updated_at
    received = look.money(payment.held)
    return Short(
        account=account_of(sketch),
        received=received,
        lead=look.words.rich("short.lead", received=received, time=look.time(at)),
        bar_label=look.words("short.bar", received=received, expected=look.money(payment.expected)),
        percent=payment.held.minor * 100 // payment.expected.minor,
    )


def _refresh(shape: Shape, ending: Ending | None) -> str | None:
    """What a browser without script does by itself: look again, or go back to the shop."""
    if ending is not None:
        leave = ending.leave
        return f"{leave.after_s};url={leave.url}" if leave and leave.after_s else None
    tried = shape.tried
    is_waiting = shape.scene in (Scene.WORKING, Scene.SHORT) or (
        shape.scene is Scene.CHOOSE and tried is not None and tried.is_open and not shape.goes_back
    )
    # Only while the panel that waits is the one shown: a form must not be emptied under somebody's fingers.
    is_shown = shape.asked is None or (tried is not None and shape.asked is tried.method)
    return str(REFRESH_EVERY_S) if is_waiting and is_shown else None
