"""The settings of a business that are more than a number or a choice: how each is checked, and what was made of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

import click
import phonenumbers
from phonenumbers import NumberParseException, PhoneNumberFormat
from rich.markup import escape

from tidegate.cli.console import fail
from tidegate.core.colour import DARK, LIGHT, Colour, palette_for
from tidegate.core.ids import Mode
from tidegate.infra.address import WebUrl
from tidegate.merchant import logo
from tidegate.merchant.field import EmailAddress, PersonName
from tidegate.merchant.model import Business
from tidegate.payment.redirect import RedirectUrl

F = TypeVar("F", bound=Callable[..., Any])

_PHONE = re.compile(r"\+[0-9 ().-]{5,30}", re.ASCII)

_BRAND_OPTIONS = (
    click.option("--accent", help="The one colour of its pages, such as '#0f7b6c'; '' for the usual one."),
    click.option("--support-email", help="Where payers may ask; '' for none."),
    click.option("--support-phone", help="The same, such as +234 801 234 5678; '' for none."),
    click.option("--support-url", help="The same, a page of its own; '' for none."),
    click.option(
        "--logo",
        "logo_file",
        type=click.File("rb"),
        metavar="FILE",
        help=f"PNG, JPEG or WebP, at most {logo.BYTES_MAX // 1024} kB; {logo.SIDE_PX_MIN} to {logo.SIDE_PX_MAX} "
        "pixels a side.",
    ),
    click.option("--no-logo", is_flag=True, help="Take the logo away."),
)


def brand_options(command: F) -> F:
    """How the business looks to its payers."""
    for option in reversed(_BRAND_OPTIONS):
        command = option(command)
    return command


def checked(settings: dict[str, Any], mode: Mode) -> dict[str, Any]:
    """Each as it is kept. The empty text, which takes a setting away, is left to those that can be done without."""
    return {name: _checked(name, value, mode) for name, value in settings.items()}


def _checked(name: str, value: Any, mode: Mode) -> Any:
    check = _CHECKS.get(name)
    if check is None or value is None or (value == "" and name in _CLEARABLE):
        return value
    try:
        return check(value, mode)
    except ValueError as error:
        fail(f"--{name.replace('_', '-')} {error}.")


def _support_url(text: str, mode: Mode) -> str:
    url = RedirectUrl.parse(text)
    if problem := url.problem_in(mode):
        raise ValueError(problem)
    return str(url)


def _support_phone(text: str, _: Mode) -> str:
    # The library would read letters as the keys they stand on, and extensions that no link can dial.
    try:
        number = phonenumbers.parse(text) if _PHONE.fullmatch(text) else None
    except NumberParseException:
        number = None
    if number is None or not phonenumbers.is_valid_number(number):
        raise ValueError("must be a phone number in international form, such as +234 801 234 5678")
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)


_CHECKS: dict[str, Callable[[str, Mode], str]] = {
    "name": lambda text, _: PersonName.parse(text),
    "email": lambda text, _: EmailAddress.parse(text),
    "accent": lambda text, _: str(Colour.parse(text)),
    "support_email": lambda text, _: EmailAddress.parse(text),
    "support_phone": _support_phone,
    "support_url": _support_url,
    "webhook_url": lambda text, _: WebUrl.parse(text),
}
_CLEARABLE = ("accent", "support_email", "support_phone", "support_url")


def note_on(accent: str | None) -> str:
    """Where the pages show another shade than the one that was asked for, and why. Empty when nowhere."""
    if not accent:
        return ""
    light, dark = palette_for(accent, LIGHT), palette_for(accent, DARK)
    shades = {"on buttons": light.accent, "in links": light.accent_text, "on dark screens": dark.accent}
    others = [f"{shade} {place}" for place, shade in shades.items() if str(shade) != accent]
    return f"So that everybody can read the page, {accent} is shown as {', '.join(others)}." if others else ""


def name_and_brand(business: Business) -> str:
    """For a cell of a table: as payers know the business, in its own colour."""
    accent, logo_hash = business.brand.accent, business.brand.logo_hash
    name = f"[{accent}]■[/] {escape(business.name)}" if accent else escape(business.name)
    chosen = ", ".join(word for word in (accent, "logo" if logo_hash else None) if word)
    return f"{name}\n{chosen}" if chosen else name


def brand_json(business: Business) -> dict[str, Any]:
    brand = business.brand
    return {
        "accentColour": brand.accent,
        "logoHash": brand.logo_hash,
        "supportEmail": brand.support.email,
        "supportPhone": brand.support.phone,
        "supportUrl": brand.support.url,
    }
