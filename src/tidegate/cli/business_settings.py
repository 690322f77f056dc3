"""Settings of a business that need more than a type: validation and display."""

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
from tidegate.embed.frame import parse_origin
from tidegate.infra.address import WebUrl
from tidegate.merchant import logo
from tidegate.merchant.field import EmailAddress, PersonName
from tidegate.merchant.model import Business
from tidegate.merchant.redirect_host import parse_hosts
from tidegate.payment.redirect import RedirectUrl

F = TypeVar("F", bound=Callable[..., Any])

_PHONE = re.compile(r"\+[0-9 ().-]{5,30}", re.ASCII)

_BRAND_OPTIONS = (
    click.option("--accent", help="Accent colour of its pages, such as '#0f7b6c'; '' for the default."),
    click.option("--support-email", help="E-mail address of support for payers; '' for none."),
    click.option("--support-phone", help="Phone number of support, such as +234 801 234 5678; '' for none."),
    click.option("--support-url", help="Web page of support; '' for none."),
    click.option(
        "--logo",
        "logo_file",
        type=click.File("rb"),
        metavar="FILE",
        help=f"PNG, JPEG or WebP, at most {logo.BYTES_MAX // 1024} kB; {logo.SIDE_PX_MIN} to {logo.SIDE_PX_MAX} "
        "pixels a side.",
    ),
    click.option("--no-logo", is_flag=True, help="Remove the logo."),
)


def brand_options(command: F) -> F:
    """Options for how the business appears to its payers."""
    for option in reversed(_BRAND_OPTIONS):
        command = option(command)
    return command


def checked(settings: dict[str, Any], mode: Mode) -> dict[str, Any]:
    """Each in its stored form. The empty text removes a setting, where it is optional."""
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
    # The library also accepts vanity letters, and extensions that a tel: link cannot dial.
    try:
        number = phonenumbers.parse(text) if _PHONE.fullmatch(text) else None
    except NumberParseException:
        number = None
    if number is None or not phonenumbers.is_valid_number(number):
        raise ValueError("must be a phone number in international form, such as +234 801 234 5678")
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)


CHECKOUT_ORIGINS_MAX = 20


def _checkout_origins(origins: list[str], mode: Mode) -> list[str]:
    if len(origins) > CHECKOUT_ORIGINS_MAX:
        raise ValueError(f"may be given {CHECKOUT_ORIGINS_MAX} times at most")
    return [parse_origin(origin, mode) for origin in origins]


_CHECKS: dict[str, Callable[[Any, Mode], Any]] = {
    "checkout_origins": _checkout_origins,
    "redirect_hosts": lambda hosts, _: parse_hosts(hosts),
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
    """Where the pages use another shade than the given one, and why. Empty when nowhere."""
    if not accent:
        return ""
    light, dark = palette_for(accent, LIGHT), palette_for(accent, DARK)
    shades = {"on buttons": light.accent, "in links": light.accent_text, "on dark screens": dark.accent}
    others = [f"{shade} {place}" for place, shade in shades.items() if str(shade) != accent]
    return f"For sufficient contrast {accent} is shown as {', '.join(others)}." if others else ""


def name_and_brand(business: Business) -> str:
    """For a table cell: the name that payers see, in the accent colour."""
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
