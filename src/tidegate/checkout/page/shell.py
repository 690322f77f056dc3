"""The frame around every page: whose it is, in which colours and language, and whom to ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidegate.checkout.page import values
from tidegate.checkout.page.palette import Colours, colours_of
from tidegate.checkout.page.shape import Reach
from tidegate.checkout.page.sketch import ROOT, Sketch
from tidegate.checkout.page.words import LANGUAGES, Words

_SCHEMES = {Reach.URL: "", Reach.EMAIL: "mailto:", Reach.PHONE: "tel:"}


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


def shell_of(sketch: Sketch, *, is_over: bool, refresh: str | None, here: str | None = None) -> Shell:
    words, asked, name = sketch.words, sketch.shape.asked, sketch.own(values.shop_name)
    return Shell(
        words=words,
        title=words("shell.title_ended", shop=name)
        if is_over
        else words("shell.title", amount=sketch.expected, shop=name),
        colours=_colours(sketch),
        is_test=sketch.is_test,
        here=here or sketch.here,
        contacts=_contacts(sketch),
        languages=LANGUAGES,
        refresh=refresh,
        kept={"method": sketch.names.in_record(asked)} if asked else {},
    )


def bare_shell(words: Words, *, title: str, here: str, is_test: bool) -> Shell:
    """Of a page that belongs to no payment."""
    return Shell(words, title, colours_of(None), is_test, here, (), LANGUAGES, None)


def shop_of(sketch: Sketch) -> Shop:
    has_logo = sketch.shape.has_logo
    return Shop(
        name=sketch.own(values.shop_name),
        initial=sketch.own(values.shop_initial),
        logo_url=sketch.site.url(f"{ROOT}/logo/{sketch.own(values.shop_logo)}") if has_logo else None,
    )


def _colours(sketch: Sketch) -> Colours:
    if not sketch.shape.has_own_colours:
        return colours_of(None)
    return Colours(sketch.own(values.colours_light), sketch.own(values.colours_dark))


def _contacts(sketch: Sketch) -> tuple[Contact, ...]:
    reach = sketch.shape.reach
    if reach is None:
        return ()
    address = sketch.own(values.shop_contact)
    href = f"{_SCHEMES[reach]}{address}"
    return (Contact(sketch.words("shell.contact"), address, href, is_elsewhere=reach is Reach.URL),)
