"""The frame around every page: whose it is, in which colours and language, and whom to ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegate.checkout.page.look import Look
from tidegate.checkout.page.words import LANGUAGES, Words
from tidegate.core.colour import DARK, LIGHT, Palette, palette_for
from tidegate.merchant.model import Business


@dataclass(frozen=True)
class Colours:
    """The merchant's accent as CSS, for both themes."""

    light: str
    dark: str


@dataclass(frozen=True)
class Contact:
    label: str
    # The address itself, for those who cannot follow a link.
    plain: str
    href: str
    is_elsewhere: bool = False


@dataclass(frozen=True)
class Shop:
    name: str
    initial: str
    logo_url: str | None


@dataclass(frozen=True)
class Shell:
    words: Words
    title: str
    colours: Colours
    is_test: bool
    # Where another language is asked for; empty for the address that the browser is at. And what the query keeps.
    here: str
    contacts: tuple[Contact, ...]
    languages: Mapping[str, str]
    refresh: str | None
    kept: Mapping[str, str] = field(default_factory=dict)


def shell_of(look: Look, *, is_test: bool, is_over: bool, refresh: str | None, here: str | None = None) -> Shell:
    words, payment = look.words, look.situation.payment
    title = (
        words("shell.title_ended", shop=look.shop_name)
        if is_over
        else words("shell.title", amount=look.money(payment.expected), shop=look.shop_name)
    )
    return Shell(
        words=words,
        title=title,
        colours=colours_of(look.situation.business.brand.accent),
        is_test=is_test,
        here=here or look.here,
        contacts=_contacts(look.situation.business, words),
        languages=LANGUAGES,
        refresh=refresh,
        kept={"method": look.names.in_record(look.asked)} if look.asked else {},
    )


def bare_shell(words: Words, *, title: str, here: str, is_test: bool) -> Shell:
    """Of a page that belongs to no payment."""
    return Shell(words, title, colours_of(None), is_test, here, (), LANGUAGES, None)


def shop_of(look: Look) -> Shop:
    business = look.situation.business
    logo = business.brand.logo_hash
    root = look.here.rpartition("/")[0]
    return Shop(
        name=business.name,
        initial=business.name.strip()[:1].upper(),
        logo_url=f"{root}/logo/{business.code}/{logo}" if logo else None,
    )


def colours_of(accent: str | None) -> Colours:
    return Colours(_css(palette_for(accent, LIGHT)), _css(palette_for(accent, DARK)))


def _css(palette: Palette) -> str:
    return (
        f"--accent:{palette.accent};--on-accent:{palette.on_accent};--accent-edge:{palette.accent_edge};"
        f"--accent-text:{palette.accent_text};--accent-soft:{palette.accent_soft};--on-soft:{palette.on_soft}"
    )


def _contacts(business: Business, words: Words) -> tuple[Contact, ...]:
    """The best way to reach the shop comes first."""
    support = business.support
    found: list[Contact] = []
    label = words("shell.contact")
    if support.url:
        found.append(Contact(label, support.url, support.url, is_elsewhere=True))
    if support.email:
        found.append(Contact(label, support.email, f"mailto:{support.email}"))
    if support.phone:
        found.append(Contact(label, support.phone, f"tel:{support.phone}"))
    return tuple(found[:1])
