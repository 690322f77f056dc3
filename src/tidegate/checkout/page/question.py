"""What the payer's bank wants to know before it pays."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap

from tidegate.checkout.page import values
from tidegate.checkout.page.again import Again, again_of
from tidegate.checkout.page.scene import Scene
from tidegate.checkout.page.sketch import Sketch

# Countries whose addresses have a state, province or region.
WITH_STATES = (
    "AE AR AU BR BS CA CL CN CO CR CV EC EG ES GT HK HN ID IE IN IQ IT JM JP KR MM MX MY NG NI PA PE PG PH RU SD SO "
    "SS SV TH TR TW UA US UY UZ VE VN"
)


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
    is_required: bool = True
    # The countries that have it; where none is named, all have it.
    only_in: str = ""


@dataclass(frozen=True)
class Question:
    kind: str
    title: str
    lead: str
    label: str = ""
    type: str = "text"
    autocomplete: str = "off"
    fields: tuple[Field, ...] = ()
    # Who sees the answer, and how many tries are left.
    private: str | None = None
    tries: str | None = None
    again: Again | None = None


def tries_of(sketch: Sketch) -> str | None:
    """How many answers are left to what the bank asks."""
    tried = sketch.shape.tried
    if tried is None:
        return None
    if tried.answers_left == 1:
        return sketch.words("question.last_try")
    return sketch.words("question.tries_left", count=tried.answers_left)


def question_of(sketch: Sketch) -> Question:
    scene, words = sketch.shape.scene, sketch.words
    if scene is Scene.PIN:
        return Question(
            kind="pin",
            title=words("question.pin_title"),
            lead=words("question.pin_lead", digits=sketch.own(values.card_end)),
            label=words("question.pin_label"),
            type="password",
            private=words("question.private", shop=sketch.own(values.shop_name)),
            tries=tries_of(sketch),
        )
    if scene is Scene.OTP:
        return Question(
            kind="otp",
            title=words("question.otp_title"),
            lead=words("question.otp_lead"),
            label=words("question.otp_label"),
            autocomplete="one-time-code",
            private=words("question.private", shop=sketch.own(values.shop_name)),
            tries=tries_of(sketch),
            again=again_of(
                sketch, label=words("question.otp_again"), busy=words("busy.otp"), instead=words("resend.no_more_otps")
            ),
        )
    return Question(
        kind="address",
        title=words("question.address_title"),
        lead=words("question.address_lead"),
        fields=_address_fields(sketch),
        tries=tries_of(sketch),
    )


def _address_fields(sketch: Sketch) -> tuple[Field, ...]:
    words = sketch.words
    # The country of the currency first: most payers are at home.
    at_home = sketch.shape.currency.value[:2]
    countries = sorted(starmap(Choice, words.countries.items()), key=lambda choice: choice.id != at_home)
    return (
        Field("country", words("question.country"), "billing country", choices=tuple(countries)),
        Field("line", words("question.line"), "billing address-line1"),
        Field("city", words("question.city"), "billing address-level2"),
        Field("state", words("question.state"), "billing address-level1", is_required=False, only_in=WITH_STATES),
        Field("postalCode", words("question.postal_code"), "billing postal-code", is_required=False),
    )
