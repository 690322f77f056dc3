"""The panel of each method: a form, or what the payer has to do now."""

from __future__ import annotations

import msgspec

from tidegate.checkout.page.model import PageModel
from tidegate.checkout.page.price import Cost
from tidegate.checkout.page.state import PanelStep
from tidegate.core.method import Method
from tidegate.payment.attempt import AttemptStatus
from tidegate.payment.transition import attempts_left, methods_left
from tidegate.rail.action import FailureReason

_TEMPLATES: dict[tuple[Method, PanelStep], str] = {
    (Method.BANK_TRANSFER, PanelStep.FORM): "transfer_form.html",
    (Method.BANK_TRANSFER, PanelStep.ACCOUNT): "transfer_account.html",
    (Method.BANK_TRANSFER, PanelStep.ACCOUNT_CLOSED): "transfer_closed.html",
    (Method.CARD, PanelStep.FORM): "card_form.html",
    (Method.MOBILE_MONEY, PanelStep.FORM): "mobile_form.html",
    (Method.MOBILE_MONEY, PanelStep.PROMPT): "mobile_prompt.html",
    (Method.USSD, PanelStep.FORM): "ussd_form.html",
    (Method.USSD, PanelStep.DIAL): "ussd_dial.html",
}
# Shown when no attempt is left by a method.
_CLOSED = "method_closed.html"
# Shown while no rail takes the method.
_UNAVAILABLE = "method_unavailable.html"
# Shown where the rail's own page asks for the details.
_HOSTED = "hosted_form.html"
PANEL_TEMPLATES = (*_TEMPLATES.values(), _CLOSED, _UNAVAILABLE, _HOSTED)
# Reasons that are an answer to a question; when they end an attempt, too many answers were wrong.
_WRONG_ANSWERS = frozenset({FailureReason.WRONG_PIN, FailureReason.WRONG_OTP, FailureReason.WRONG_ADDRESS})


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    method: Method
    label: str
    href: str
    is_selected: bool
    # As the form sends it.
    type: str
    amount: str
    template: str
    # Operators or banks that can be chosen; None for all.
    choices: frozenset[str] | None
    # Why the last attempt by this method failed.
    failure: str | None
    # How many attempts are left, where the payer should know.
    tries: str | None
    is_closed: bool


def panels_of(page: PageModel, costs: list[Cost]) -> list[Panel]:
    each = costs if len(costs) > 1 else costs * len(page.methods)
    return [_panel(page, method, cost) for method, cost in zip(page.methods, each, strict=True)]


def _panel(page: PageModel, method: Method, cost: Cost) -> Panel:
    is_selected = method is page.method
    step = page.step if page.attempt and page.attempt.method is method else PanelStep.FORM
    # The payer gives another number or another bank instead of what is under way.
    if page.goes_back and is_selected and step in (PanelStep.PROMPT, PanelStep.DIAL):
        step = PanelStep.FORM
    is_closed = method not in methods_left(page.payment)
    failure = _failure(page, method)
    return Panel(
        method=method,
        label=page.words(f"method.{method.value}"),  # words: method.*
        href=page.method_href(method),
        is_selected=is_selected,
        type=page.names.in_request(method),
        amount=page.money(cost.expected),
        template=_CLOSED if is_closed and step is PanelStep.FORM else _template(page, method, step),
        choices=page.choices_of(method),
        failure=failure,
        tries=_tries(page, method, has_failed=failure is not None) if step is PanelStep.FORM else None,
        is_closed=is_closed,
    )


def _template(page: PageModel, method: Method, step: PanelStep) -> str:
    if step is PanelStep.ACCOUNT_CLOSED and not page.can_extend:
        step = PanelStep.FORM  # The next attempt gets another account.
    if step is not PanelStep.FORM:
        return _TEMPLATES[method, step]
    if not page.is_offered(method):
        return _UNAVAILABLE
    offer = page.offer(method)
    return _HOSTED if offer is not None and offer.is_hosted else _TEMPLATES[method, step]


def _tries(page: PageModel, method: Method, *, has_failed: bool) -> str | None:
    if method is Method.BANK_TRANSFER:
        return None  # The last account can be opened again.
    left = attempts_left(page.payment, method)
    if left == 1:
        return page.words("tries.last")
    return page.words("tries.left", count=left) if left > 0 and has_failed else None


def _failure(page: PageModel, method: Method) -> str | None:
    attempt = page.attempt
    if attempt is None or attempt.method is not method or attempt.status is not AttemptStatus.FAILED:
        return None
    reason = attempt.failure or FailureReason.DECLINED
    key = "too_many_tries" if reason in _WRONG_ANSWERS else reason.value
    return page.words(f"failure.{key}")  # words: failure.*
