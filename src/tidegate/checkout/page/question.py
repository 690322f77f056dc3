"""What the payer's bank wants to know before it pays."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.checkout.page import values
from tidegate.checkout.page.scene import Scene
from tidegate.checkout.page.sketch import Sketch

# In the order of the alphabet by code; the names come from babel, in the payer's language.
COUNTRIES = ("CM", "CI", "EG", "ET", "GB", "GH", "KE", "MA", "NG", "RW", "SN", "TZ", "UG", "US", "ZA", "ZM", "ZW")


@dataclass(frozen=True)
class Choice:
    id: str
    name: str


@dataclass(frozen=True)
class Field:
    name: str
    label: str
    autocomplete: str
    choices: tuple[Choice, ...] = ()
    is_optional: bool = False


@dataclass(frozen=True)
class Question:
    kind: str
    title: str
    lead: str
    label: str = ""
    type: str = "text"
    autocomplete: str = "off"
    fields: tuple[Field, ...] = ()


def question_of(sketch: Sketch) -> Question:
    scene, words = sketch.shape.scene, sketch.words
    if scene is Scene.PIN:
        return Question(
            kind="pin",
            title=words("question.pin_title"),
            lead=words("question.pin_lead", digits=sketch.own(values.card_end)),
            label=words("question.pin_label"),
            type="password",
        )
    if scene is Scene.OTP:
        return Question(
            kind="otp",
            title=words("question.otp_title"),
            lead=words("question.otp_lead"),
            label=words("question.otp_label"),
            autocomplete="one-time-code",
        )
    return Question(
        kind="address",
        title=words("question.address_title"),
        lead=words("question.address_lead"),
        fields=_address_fields(sketch),
    )


def _address_fields(sketch: Sketch) -> tuple[Field, ...]:
    words = sketch.words
    named = [Choice(code, words.country(code)) for code in COUNTRIES]
    # The country of the currency first: most payers are at home.
    at_home = sketch.shape.currency.value[:2]
    countries = sorted(named, key=lambda choice: (choice.id != at_home, choice.name))
    return (
        Field("line", words("question.line"), "billing address-line1"),
        Field("city", words("question.city"), "billing address-level2"),
        Field("postalCode", words("question.postal_code"), "billing postal-code", is_optional=True),
        Field("country", words("question.country"), "billing country", choices=tuple(countries)),
    )
