"""Everything that the page of a payment link shows, and what its form says. Templates read it as `page`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import NamedTuple

from tidegate.checkout.language.catalog import Catalog
from tidegate.checkout.page.model import NOTHING_TYPED, ROOT, FormState
from tidegate.core import digit
from tidegate.core.card_number import contains_card_number
from tidegate.core.money import Currency, Money
from tidegate.infra.http.public_url import PublicUrl
from tidegate.merchant.field import CustomerName, EmailAddress, PhoneNumber
from tidegate.merchant.model import Business
from tidegate.merchant.wire import logo_url
from tidegate.payment.model import Customer
from tidegate.payment_link.model import FieldRule, LinkState, LinkTerms, LinkView, fits, is_taken

LINK_ROOT = "/link"
_AMOUNT = re.compile(r"\d{1,12}(?:\.\d{1,2})?", re.ASCII)
TYPED_LENGTH_MAX = 300


class LinkPageState(StrEnum):
    FORM = "form"
    # Payments under way are as many as the link may still take.
    BUSY = "busy"
    PAID = "paid"
    CLOSED = "closed"


def state_of_page(business: Business, view: LinkView, *, now: datetime) -> LinkPageState:
    state = view.state(now=now)
    if state is LinkState.USED_UP:
        return LinkPageState.PAID
    if state is not LinkState.OPEN or not business.is_active:
        return LinkPageState.CLOSED
    return LinkPageState.BUSY if is_taken(view) else LinkPageState.FORM


@dataclass(frozen=True, kw_only=True)
class LinkPageModel:
    business: Business
    view: LinkView
    state: LinkPageState
    words: Catalog
    site: PublicUrl
    token: str
    form_id: str
    form: FormState = NOTHING_TYPED

    @property
    def terms(self) -> LinkTerms:
        return self.view.link.terms

    @property
    def shop_name(self) -> str:
        return self.business.name

    @property
    def shop_initial(self) -> str:
        return self.shop_name.strip()[:1].upper()

    @property
    def logo_url(self) -> str | None:
        return logo_url(self.business, checkout_url=self.site.url(ROOT))

    @property
    def here(self) -> str:
        return self.site.url(f"{LINK_ROOT}/{self.view.link.id}")

    @property
    def title(self) -> str:
        if self.state is LinkPageState.FORM:
            return f"{self.terms.name} · {self.shop_name}"
        return self.words(f"link.{self.state}")  # words: link.busy, link.paid, link.closed

    @property
    def amount(self) -> str | None:
        """The fixed one."""
        return self.words.money(self.terms.asked) if self.terms.asked else None

    @property
    def asks_phone(self) -> bool:
        return self.terms.phone_rule is not None

    @property
    def asks_note(self) -> bool:
        return self.terms.note_rule is not None

    @property
    def phone_label(self) -> str:
        return self._marked(self.words("link.phone"), self.terms.phone_rule)

    @property
    def note_label(self) -> str:
        return self._marked(self.terms.note_label or self.words("link.note"), self.terms.note_rule)

    def _marked(self, label: str, rule: FieldRule | None) -> str:
        return label if rule is FieldRule.REQUIRED else self.words("link.optional", label=label)

    @property
    def least(self) -> str:
        return self.words.money(self.terms.least)

    @property
    def most(self) -> str:
        return self.words.money(self.terms.most)


class LinkFormData(NamedTuple):
    customer: Customer
    # None where the link has a fixed one.
    amount: Money | None
    note: str | None


# A note has the rules of a name: one line that can be seen, and no longer.
_PARSERS: Mapping[str, Callable[[str], str]] = {
    "name": CustomerName.parse,
    "email": EmailAddress.parse,
    "phone": PhoneNumber.parse,
    "note": CustomerName.parse,
}


def read_form(form: Mapping[str, str], terms: LinkTerms, words: Catalog) -> LinkFormData | dict[str, str]:
    """What the payer typed; or what is wrong, by field. What the page does not ask for is not taken."""
    required = FieldRule.REQUIRED
    rules = {"name": required, "email": required, "phone": terms.phone_rule, "note": terms.note_rule}
    given = dict.fromkeys(rules, "")
    wrong: dict[str, str] = {}
    amount = terms.asked or _amount_in(form.get("amount", ""), terms.currency)
    if amount is None or not fits(amount, terms):
        wrong["amount"] = words("wrong.amount", least=words.money(terms.least), most=words.money(terms.most))
    for field, rule in rules.items():
        text = form.get(field, "").strip()
        if rule is None or (rule is FieldRule.OPTIONAL and not text):
            continue
        try:
            given[field] = _read_field(field, text)
        except ValueError:
            wrong[field] = words(f"wrong.{field}")  # words: wrong.name, wrong.email, wrong.phone, wrong.note
        if field != "phone" and contains_card_number(text[:TYPED_LENGTH_MAX]):
            wrong[field] = words("wrong.card_elsewhere")
    customer = Customer(given["name"], given["email"], given["phone"] or None)
    return wrong or LinkFormData(customer, None if terms.asked else amount, given["note"] or None)


def _read_field(field: str, text: str) -> str:
    if not text:
        raise ValueError("is empty")
    plain = digit.in_ascii(text[:TYPED_LENGTH_MAX]) if field == "phone" else text
    return str(_PARSERS[field](plain))


def _amount_in(text: str, currency: Currency) -> Money | None:
    plain = digit.in_ascii(text[:TYPED_LENGTH_MAX]).replace(" ", "")
    if not _AMOUNT.fullmatch(plain):
        return None
    minor = Decimal(plain) * currency.minor_per_major
    return Money(int(minor), currency) if minor % 1 == 0 else None


def typed(form: Mapping[str, str]) -> dict[str, str]:
    """To be shown again; never a card number."""
    given = ((name, form.get(name, "")[:TYPED_LENGTH_MAX]) for name in ("name", "email", "amount", "phone", "note"))
    return {name: text for name, text in given if not contains_card_number(text)}
