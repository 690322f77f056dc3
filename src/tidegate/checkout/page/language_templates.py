"""The templates of the hosted page, compiled for one language.

Jinja evaluates a filter of a constant when it compiles: `"card.title"|text` and `"lock"|icon` cost a page nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Any

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined

from tidegate.checkout.language.catalog import LANGUAGES, Catalog, catalog_for
from tidegate.checkout.page.model import NOTHING_TYPED, FormState, grouped, plain_digits, unbroken
from tidegate.checkout.page.panel import PANEL_TEMPLATES
from tidegate.core.money import Currency
from tidegate.payment.transition import ATTEMPTS_MAX
from tidegate.rail import phone, ussd_bank
from tidegate.rail.mobile_money import MOBILE_MONEY

PACKAGE = "tidegate.checkout.page"
_Draw = Callable[..., str]


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
            # All of them are kept: a dictionary then, which is asked for the templates that another one extends.
            cache_size=-1,
        )
        environment.globals.update(
            languages=LANGUAGES,
            attempts_max=ATTEMPTS_MAX,
            mobile_money=MOBILE_MONEY,
            ussd_banks=ussd_bank.USSD_BANKS,
            countries_of=partial(_countries_of, words),
        )
        environment.filters.update(
            text=words,
            rich=words.rich,
            meta=partial(getattr, words),
            grouped=grouped,
            plain_digits=plain_digits,
            unbroken=unbroken,
            phone_prefixes=_phone_prefixes,
        )
        # Nothing in our templates is an item that is written as an attribute, which Jinja's own would look for, too.
        environment.getattr = getattr  # type: ignore[assignment,method-assign]
        # Jinja's own look-up would ask for changes each time.
        self._template = lru_cache(environment.get_template)
        # Drawn once for each combination of arguments, and kept.
        environment.filters.update({name: lru_cache(draw) for name, draw in self._macros("prepared.html").items()})
        environment.globals["parts"] = self._template("parts.html").module
        environment.filters["fields"] = _fields(self._macros("fields.html"))
        forms = {name: self._macros(name)["show"] for name in PANEL_TEMPLATES}
        environment.filters["panel_form"] = lambda panel, page, panels: forms[panel.template](page, panel, panels)
        environment.filters["simulator"] = self._macros("simulator.html")["show"]

    def _macros(self, template: str) -> dict[str, _Draw]:
        found = vars(self._template(template).module)
        return {name: macro for name, macro in found.items() if callable(macro)}

    def render(self, template: str, facts: dict[str, Any]) -> str:
        drawn = self._template(template)
        # Jinja itself would put globals and facts together name by name, which takes 17 µs.
        context = drawn.new_context({**self._environment.globals, **facts}, shared=True)
        return "".join(drawn.root_render_func(context))


@cache
def templates_for(language: str) -> LanguageTemplates:
    """Compiled when the first payer comes who reads it."""
    return LanguageTemplates(language)


def _fields(macros: dict[str, _Draw]) -> _Draw:
    """The filter that draws fields of a form; those in which nothing was typed are drawn once."""
    empty = {name: lru_cache(partial(draw, NOTHING_TYPED)) for name, draw in macros.items()}

    def fields(form: FormState, name: str, *more: Any) -> str:
        return macros[name](form, *more) if form.values or form.errors else empty[name](*more)

    return fields


@lru_cache
def _phone_prefixes(currency: Currency) -> str:
    """For the page's script, which picks the operator of a number."""
    return msgspec.json.encode(phone.prefixes(currency)).decode()


def _countries_of(words: Catalog, currency: Currency) -> list[tuple[str, str]]:
    """The country of the currency first: most payers are at home."""
    return sorted(words.countries.items(), key=lambda country: country[0] != currency.spec.country)
