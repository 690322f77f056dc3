"""Everything that the page of one payment shows, for one payer and one request. Templates read it as `page`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from decimal import Decimal
from functools import cached_property

import msgspec
from markupsafe import Markup, escape

from tidegate.checkout.language.catalog import Catalog
from tidegate.checkout.language.time_format import countdown_text, offset_minutes
from tidegate.checkout.model import Movements, ReceivedAs, ReturnStatus
from tidegate.checkout.page.state import PageState, PanelStep, Resend, resend_of, selected_method, state_of, step_of
from tidegate.core.method import Method, MethodNames
from tidegate.core.money import Currency, Money
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.timestamp import to_iso
from tidegate.merchant.model import Business
from tidegate.merchant.wire import logo_url
from tidegate.payment.attempt import Attempt, AttemptStatus
from tidegate.payment.change import PaymentSnapshot
from tidegate.payment.model import Payment
from tidegate.payment.transition import attempts_left, is_final
from tidegate.rail import phone as phones
from tidegate.rail.action import DialAction, PromptAction, TransferAction
from tidegate.rail.choice import MethodOffer

ROOT = "/pay"
EVENTS_PATH = "/checkout/payments"
# Money that goes back moves without a change of the payment, and an ended payment pushes no events.
RETURN_POLL_S = 15
DESCRIPTION_LENGTH_MAX = 140
# Money that comes now goes back.
_UNPAID = frozenset({PageState.EXPIRED, PageState.CANCELLED, PageState.USED_UP})


class FormState(msgspec.Struct, frozen=True):
    """What the payer sent and what is wrong with it, to be shown again. Never the security code, PIN or OTP."""

    values: Mapping[str, str] = {}
    errors: Mapping[str, str] = {}


NOTHING_TYPED = FormState()


class PageModel(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    snapshot: PaymentSnapshot
    movements: Movements
    words: Catalog
    now: datetime
    site: PublicUrl
    names: MethodNames
    is_test: bool
    # For the script and style of the page, and for its forms.
    nonce: str
    token: str = ""
    # From the query.
    asked: Method | None = None
    goes_back: bool = False
    stays: bool = False
    # What some rail takes now, by method; None for everything.
    offers: Mapping[Method, MethodOffer] | None = None
    # What the attempt's rail supports.
    can_resend: bool = False
    can_extend: bool = True
    form: FormState = NOTHING_TYPED
    # What became of the last form, for a sentence above the page; or the sentence itself.
    outcome: str | None = None
    announcement: Markup | None = None
    # Shown to the merchant, of a payment that does not exist: nothing watches it.
    is_preview: bool = False

    # The payment and its business.

    @cached_property
    def payment(self) -> Payment:
        return self.snapshot.payment

    @cached_property
    def business(self) -> Business:
        return self.snapshot.business

    @cached_property
    def attempt(self) -> Attempt | None:
        """The one under way, or the last one."""
        return self.snapshot.attempt

    @cached_property
    def state(self) -> PageState:
        return state_of(self.snapshot, now=self.now, goes_back=self.goes_back)

    @cached_property
    def method(self) -> Method:
        """The selected one."""
        selected = selected_method(self.snapshot, self.asked)
        is_shown = self.state is not PageState.CHOOSE or selected in self._shown_methods
        return selected if is_shown else self._shown_methods[0]

    @cached_property
    def methods(self) -> tuple[Method, ...]:
        return self._shown_methods if self.state is PageState.CHOOSE else (self.method,)

    @cached_property
    def _shown_methods(self) -> tuple[Method, ...]:
        """Those that some rail takes now, and the one under way. All of them where none is left: each says so."""
        under_way = self._open_attempt.method if self._open_attempt else None
        ordered = self.payment.order.methods
        return tuple(method for method in ordered if self.is_offered(method) or method is under_way) or ordered

    def is_offered(self, method: Method) -> bool:
        return self.offers is None or method in self.offers

    def offer(self, method: Method) -> MethodOffer | None:
        return self.offers.get(method) if self.offers else None

    def choices_of(self, method: Method) -> frozenset[str] | None:
        """Operators or banks; None for all."""
        offer = self.offer(method)
        return offer.choices if offer else None

    @cached_property
    def currency(self) -> Currency:
        return self.payment.order.asked.currency

    @cached_property
    def shop_name(self) -> str:
        return self.business.name

    @property
    def shop_initial(self) -> str:
        return self.shop_name.strip()[:1].upper()

    @property
    def logo_url(self) -> str | None:
        return logo_url(self.business, checkout_url=self.site.url(ROOT))

    @cached_property
    def expected(self) -> str:
        return self.money(self.payment.expected)

    @property
    def description(self) -> str | None:
        """A text under `description` in the merchant's metadata."""
        metadata = self.payment.order.metadata
        text = msgspec.json.decode(metadata).get("description") if metadata else None
        return text[:DESCRIPTION_LENGTH_MAX] if isinstance(text, str) and text.strip() else None

    @property
    def phone(self) -> str:
        """The customer's, as the form of mobile money takes it; empty where it is no number of this currency."""
        number = self.payment.order.customer.phone
        return (number and phones.national(number, self.currency)) or ""

    # Addresses.

    @cached_property
    def here(self) -> str:
        """The page's own address, without a query."""
        return self.site.url(f"{ROOT}/{self.payment.pay_code}")

    @property
    def back_href(self) -> str:
        return f"{self.method_href(self.method)}&again=1"

    def method_href(self, method: Method) -> str:
        return f"{self.here}?method={self.names.in_record(method)}"

    def form_href(self, method: Method) -> str | None:
        """Where another number or another bank is given; None where no attempt is left for it."""
        return f"{self.method_href(method)}&again=1" if attempts_left(self.payment, method) > 0 else None

    @cached_property
    def hidden_fields(self) -> Markup:
        """Of every form: its token, and the version of the payment that it was made for."""
        return _html(
            f'<input type="hidden" name="token" value="{escape(self.token)}">\n'
            f'<input type="hidden" name="seen" value="{self.payment.version}">'
        )

    @property
    def notice(self) -> str | None:
        words, outcome, attempt = self.words, self.outcome, self.attempt
        if self.announcement or outcome is None:
            return self.announcement
        if outcome != "extended":
            return words(f"notice.{outcome}")  # words: notice.changed, notice.refused, notice.soon
        if attempt is None or self.step is not PanelStep.ACCOUNT:
            return None
        is_last = attempt.expires_at == self.payment.expires_at
        # words: notice.extended, notice.extended_last
        return words.rich(f"notice.extended{'_last' if is_last else ''}", time=self.time(self.closes_at))

    # Changes while the page is open.

    @property
    def watch(self) -> str:
        """The event stream; empty when no event can come."""
        is_watched = not is_final(self.payment.status) or self.may_get_money
        return self.site.url(f"{EVENTS_PATH}/{self.payment.pay_code}/events") if is_watched else ""

    @property
    def poll_s(self) -> int:
        if self.payment.held.minor or self.payment.returned.minor or self.may_get_money:
            return RETURN_POLL_S
        # Money may still be sent to the account that was shown.
        has_account = self.attempt is not None and self.attempt.account_number is not None
        return RETURN_POLL_S if has_account and self.state is PageState.PAID else 0

    @property
    def mark(self) -> str:
        """Differs whenever the page shows something else.

        Time alone closes an account, and money arrives at the payer's bank, without a change of the payment. The open
        tab does not count: the script changes tabs without a request.
        """
        sent_back = sum(each.status is ReturnStatus.CONFIRMED for each in self.movements.returns)
        return f"{self.payment.version}-{self.state}-{self.step}-{sent_back}"

    @property
    def may_get_money(self) -> bool:
        """The payment has ended unpaid, and money may be on its way all the same."""
        had_account = self.payment.attempts_by_method.get(Method.BANK_TRANSFER, 0) > 0
        return self.state in _UNPAID and (had_account or self.may_be_approved)

    @property
    def may_be_approved(self) -> bool:
        """A phone may still show the prompt, or a code still work: the rail has not said no."""
        attempt = self.attempt
        if attempt is None or attempt.method not in (Method.MOBILE_MONEY, Method.USSD):
            return False
        return self.state in _UNPAID and attempt.status is not AttemptStatus.FAILED

    @property
    def cancel_question(self) -> str:
        if self.state is PageState.SHORT:
            return self.words("short.sure")
        has_sent = self._open_attempt is not None and self._open_attempt.said_sent_at is not None
        return self.words("cancel.sure_sent") if has_sent else self.words("cancel.sure")

    # The attempt under way.

    @cached_property
    def step(self) -> PanelStep:
        return step_of(self.snapshot, self.attempt.method, now=self.now) if self.attempt else PanelStep.FORM

    @property
    def is_answered_by_phone(self) -> bool:
        return self._open_attempt is not None and isinstance(self._open_attempt.action, PromptAction | DialAction)

    @cached_property
    def _open_attempt(self) -> Attempt | None:
        return self.attempt if self.attempt is not None and self.attempt.is_open else None

    @property
    def rest(self) -> Money:
        """What is still to be sent to the account."""
        assert self.attempt is not None
        return self.attempt.expected - self.payment.held

    @property
    def closes_at(self) -> datetime:
        return (self.attempt and self.attempt.expires_at) or self.payment.expires_at

    @property
    def is_notified_later(self) -> bool:
        """The bank tells of the money in a file, perhaps on another day."""
        action = self.attempt.action if self.attempt else None
        return isinstance(action, TransferAction) and action.is_notified_later

    @property
    def attempt_age_s(self) -> int:
        return max(0, int((self.now - self.attempt.created_at).total_seconds())) if self.attempt else 0

    @property
    def problem(self) -> str | None:
        """Why the bank asks once more."""
        attempt = self._open_attempt
        # words: failure.wrong_pin, failure.wrong_otp, failure.wrong_address
        return self.words(f"failure.{attempt.failure.value}") if attempt and attempt.failure else None

    @property
    def answers_left(self) -> str:
        left = self.attempt.answers_left if self.attempt else 0
        return self.words("question.last_try") if left == 1 else self.words("question.tries_left", count=left)

    @cached_property
    def resend(self) -> Resend:
        if self.attempt is None:
            return Resend.NEVER
        return resend_of(self.attempt, can_resend=self.can_resend, now=self.now)

    @property
    def resend_wait(self) -> Markup:
        moment = self.attempt.resend_from if self.attempt else None
        # Rounded up, so that the server allows it when the page says so.
        seconds = self.seconds_until(moment) + 1 if moment else 0
        return self.words.rich("resend.wait", time=countdown(seconds))

    @property
    def held_lead(self) -> Markup:
        arrived = [money.at for money in self.movements.receipts if money.outcome is ReceivedAs.HELD]
        at = arrived[-1] if arrived else self.payment.updated_at
        return self.words.rich("short.lead", received=self.money(self.payment.held), time=self.time(at))

    # Formats.

    @property
    def zone(self) -> timezone:
        return self.currency.spec.zone

    def money(self, amount: Money) -> str:
        return self.words.money(amount)

    def time(self, moment: datetime) -> Markup:
        return self._time(moment, self.words.time(moment, self.zone), "time")

    def moment(self, moment: datetime) -> Markup:
        """With the zone's name: on paper and without script nothing else says which it is."""
        return self._time(moment, f"{self.words.moment(moment, self.zone)} {self.zone.tzname(None)}", "moment")

    def _time(self, moment: datetime, text: str, style: str) -> Markup:
        """The page's script shows it in the device's own zone, where that is another one."""
        offset = offset_minutes(self.zone)
        return _html(
            f'<time datetime="{to_iso(moment)}" data-offset="{offset}" data-style="{style}">{escape(text)}</time>'
        )

    def seconds_until(self, moment: datetime) -> int:
        return max(0, int((moment - self.now).total_seconds()))


def countdown(seconds: int) -> Markup:
    return _html(f'<b role="timer" data-countdown="{seconds}">{countdown_text(seconds)}</b>')


def _html(text: str) -> Markup:
    """Whose values are escaped, or numbers. `Markup.format` takes sixteen times as long."""
    return Markup(text)  # noqa: S704


def plain_digits(amount: Money) -> str:
    """As a bank's app wants it typed: 10150.50."""
    return f"{Decimal(amount.minor).scaleb(-amount.currency.exponent):f}"


def unbroken(text: str) -> str:
    """On one line."""
    return text.replace(" ", "\u00a0")


def grouped(number: str) -> str:
    """For the eye: 990 214 7730. The last group takes what is left over."""
    groups = max(1, len(number) // 3)
    heads = [number[index * 3 : index * 3 + 3] for index in range(groups - 1)]
    return " ".join([*heads, number[(groups - 1) * 3 :]])
