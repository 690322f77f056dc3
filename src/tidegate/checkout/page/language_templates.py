"""The templates of the hosted page, compiled for one language.

Jinja evaluates a filter of a constant when it compiles: `"card.title"|text` and `"lock"|icon` cost a page nothing.
"""

from __future__ import annotations

from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined

from tidegate.checkout.language.catalog import LANGUAGES, catalog_for
from tidegate.checkout.page.model import grouped, plain_digits, unbroken
from tidegate.checkout.page.panel import PANEL_TEMPLATES
from tidegate.core.money import Currency
from tidegate.payment.transition import ATTEMPTS_MAX
from tidegate.rail import phone, ussd_bank
from tidegate.rail.mobile_money import MOBILE_MONEY

PACKAGE = "tidegate.checkout.page"


class LanguageTemplates:
    """Nothing in them is of a payment, a payer, or an address of the service."""

    def __init__(self, language: str) -> None:
        words = catalog_for(language)
        self._environment = environment = Environment(
            loader=PackageLoader(PACKAGE),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.globals.update(
            words=words,
            languages=LANGUAGES,
            attempts_max=ATTEMPTS_MAX,
            mobile_money=MOBILE_MONEY,
            countries_of=_countries_of,
            phone_prefixes=_phone_prefixes,
            ussd_banks=ussd_bank.USSD_BANKS,
            bank_codes=frozenset(one.code for banks in ussd_bank.USSD_BANKS.values() for one in banks),
            known=lambda value, allowed: value if value in allowed else None,
        )
        environment.filters.update(
            text=words, rich=words.rich, grouped=grouped, plain_digits=plain_digits, unbroken=unbroken
        )
        # Nothing in our templates is an item that is written as an attribute, which Jinja's own would look for, too.
        environment.getattr = getattr  # type: ignore[assignment,method-assign]
        # Jinja's own look-up would ask for changes each time.
        self._template = lru_cache(environment.get_template)
        # Drawn once for each combination of arguments, and kept.
        macros = vars(self._template("prepared.html").module).items()
        prepared = {name: lru_cache(macro) for name, macro in macros if callable(macro)}
        environment.globals["prepared"] = SimpleNamespace(**prepared)
        environment.filters["icon"] = prepared["icon"]
        environment.globals["parts"] = self._template("parts.html").module
        environment.globals["panel_forms"] = {name: self._macro(name) for name in PANEL_TEMPLATES}
        environment.globals["show_simulator"] = self._macro("simulator.html")

    def _macro(self, template: str) -> Any:
        return self._template(template).module.show  # type: ignore[attr-defined]

    def render(self, template: str, facts: dict[str, Any]) -> str:
        drawn = self._template(template)
        # Jinja itself would put globals and facts together name by name, which takes 17 µs.
        context = drawn.new_context({**self._environment.globals, **facts}, shared=True)
        return "".join(drawn.root_render_func(context))


@cache
def templates_for(language: str) -> LanguageTemplates:
    """Compiled when the first payer comes who reads it."""
    return LanguageTemplates(language)


@lru_cache
def _phone_prefixes(currency: Currency) -> str:
    """For the page's script, which picks the operator of a number."""
    return msgspec.json.encode(phone.prefixes(currency)).decode()


def _countries_of(language: str, currency: Currency) -> list[tuple[str, str]]:
    """The country of the currency first: most payers are at home."""
    countries = catalog_for(language).countries.items()
    return sorted(countries, key=lambda country: country[0] != currency.spec.country)
