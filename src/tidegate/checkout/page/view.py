"""The whole page, ready to be laid out: templates only loop and choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tidegate.checkout.model import ReturnStatus, TakenAs
from tidegate.checkout.page.ending import Ending, ending_of, movements_of
from tidegate.checkout.page.look import Look
from tidegate.checkout.page.panel import Account, Panel, Price, account_of, panel_of, price_at_the_end, price_of
from tidegate.checkout.page.question import Question, question_of
from tidegate.checkout.page.scene import ENDINGS, Scene, Step, scene_of, selected_method, step_of
from tidegate.checkout.page.shell import Shell, Shop, shell_of, shop_of
from tidegate.payment.transition import is_final
from tidegate.rail.interface import RedirectAction

DESCRIPTION_LENGTH_MAX = 140
# Money that goes back moves without the payment changing, and nobody pushes the news of an ended payment.
RETURN_POLL_S = 15
# Without script the page loads itself again this often while it waits.
REFRESH_EVERY_S = 10

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


@dataclass(frozen=True, kw_only=True)
class Page:
    shell: Shell
    shop: Shop
    template: str
    scene: Scene
    here: str
    version: int
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
    # Money of this payer that goes back, while the payment is still open.
    returns: tuple[str, ...]
    simulator: Any = None

    def is_selected(self, method: str) -> bool:
        return any(price.is_selected for price in self.prices if price.method == method)


def page_of(
    look: Look,
    *,
    token: str,
    watch: str,
    is_test: bool,
    filled: Filled | None = None,
    notice: str | None = None,
    simulator: Any = None,
) -> Page:
    payment = look.situation.payment
    scene = scene_of(look.situation, now=look.now, goes_back=look.goes_back)
    chosen = selected_method(look.situation, look.asked)
    methods = payment.order.methods if scene is Scene.CHOOSE else (chosen,)
    ending = ending_of(look, scene) if scene in ENDINGS else None
    filled = filled or Filled()
    attempt = look.situation.attempt
    action = attempt.action if attempt else None
    return Page(
        shell=shell_of(look, is_test=is_test, is_over=ending is not None, refresh=_refresh(look, scene, ending)),
        shop=shop_of(look),
        template=_TEMPLATES[scene],
        scene=scene,
        here=look.here,
        version=payment.version,
        mark=_mark(look, scene),
        token=token,
        watch="" if is_final(payment.status) else watch,
        poll_s=RETURN_POLL_S if _may_move_unseen(look, ending) else 0,
        order_line=look.words("summary.order", reference=payment.reference),
        description=_description(payment.order.metadata),
        prices=(price_at_the_end(look, chosen),)
        if ending is not None
        else tuple(price_of(look, method, is_selected=method is chosen) for method in methods),
        panels=tuple(panel_of(look, method, is_selected=method is chosen) for method in methods)
        if scene is Scene.CHOOSE
        else (),
        question=question_of(look, scene) if scene in _QUESTIONS else None,
        problem=_problem(look),
        issuer_url=action.url if isinstance(action, RedirectAction) else None,
        back_href=f"{look.method_href(chosen)}&again=1",
        short=_short(look) if scene is Scene.SHORT else None,
        ending=ending,
        values=filled.values,
        errors=filled.errors,
        notice=notice,
        returns=tuple(movements_of(look)) if ending is None else (),
        simulator=simulator,
    )


def _mark(look: Look, scene: Scene) -> str:
    """Time alone closes an account, and money arrives at the payer's bank, without any change of the payment. Which
    tab is open does not count: the script changes tabs without asking."""
    attempt = look.situation.attempt
    step = step_of(look.situation, attempt.method, now=look.now) if attempt else Step.FORM
    sent_back = sum(back.status is ReturnStatus.CONFIRMED for back in look.movements.returns)
    return f"{look.situation.payment.version}-{scene}-{step}-{sent_back}"


def _may_move_unseen(look: Look, ending: Ending | None) -> bool:
    payment, attempt = look.situation.payment, look.situation.attempt
    if payment.held.minor or payment.returned.minor:
        return True
    # Somebody may still send money to the account that was shown.
    return ending is not None and attempt is not None and attempt.account_number is not None


def _problem(look: Look) -> str | None:
    attempt = look.situation.attempt
    if attempt is None or not attempt.is_open or attempt.failure is None:
        return None
    # words: failure.wrong_pin, failure.wrong_otp, failure.wrong_address
    return look.words(f"failure.{attempt.failure.value}")


def _short(look: Look) -> Short:
    payment = look.situation.payment
    arrived = [money for money in look.movements.receipts if money.taken is TakenAs.HELD]
    at = arrived[-1].at if arrived else payment.updated_at
    received = look.money(payment.held)
    return Short(
        account=account_of(look),
        received=received,
        lead=look.words.rich("short.lead", received=received, time=look.time(at)),
        bar_label=look.words("short.bar", received=received, expected=look.money(payment.expected)),
        percent=payment.held.minor * 100 // payment.expected.minor,
    )


def _refresh(look: Look, scene: Scene, ending: Ending | None) -> str | None:
    """What a browser without script does by itself: look again, or go back to the shop."""
    if ending is not None:
        leave = ending.leave
        return f"{leave.after_s};url={leave.url}" if leave and leave.after_s else None
    attempt = look.situation.attempt
    is_waiting = scene in (Scene.WORKING, Scene.SHORT) or (
        scene is Scene.CHOOSE and attempt is not None and attempt.is_open and not look.goes_back
    )
    # Only while the panel that waits is the one shown: a form must not be emptied under somebody's fingers.
    is_shown = look.asked is None or (attempt is not None and look.asked is attempt.method)
    return str(REFRESH_EVERY_S) if is_waiting and is_shown else None


def _description(metadata: str | None) -> str | None:
    """A text under `description` in the metadata tells the payer what is being paid."""
    if metadata is None:
        return None
    text = msgspec.json.decode(metadata).get("description")
    return text[:DESCRIPTION_LENGTH_MAX] if isinstance(text, str) and text.strip() else None
