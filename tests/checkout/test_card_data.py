"""Card data passes through and leaves no trace: not in a table, not in a log line, not in what an error shows."""

from __future__ import annotations

import io
import itertools
import logging
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
import structlog

from checkout.paying import (
    ADDRESS,
    NOT_FOR_TESTS,
    SUCCEEDS,
    WANTS_3DS,
    WANTS_ADDRESS,
    WANTS_PIN,
    WANTS_PIN_AND_OTP,
    WITHOUT_MONEY,
    card,
)
from conftest import MakeCheckout, log_plainly
from tidegate.checkout import instrument, wire
from tidegate.core.clock import monotonic_s
from tidegate.core.method import Method
from tidegate.core.money import Currency, Money
from tidegate.infra import rate_limit
from tidegate.infra.http import application, error_answer
from tidegate.infra.http.read import read
from tidegate.infra.telemetry import configure_logs
from tidegate.intake import commands as intake
from tidegate.money_return import commands as money_return
from tidegate.rail.choice import MethodOffer
from tidegate.rail.instrument import Card, Otp, Pin
from tidegate.rail.interface import PayerContact, StartAttempt
from tidegate.rail.sandbox import SandboxRail
from tidegate.sandbox import notifier

CARDS = (SUCCEEDS, WANTS_PIN, WANTS_PIN_AND_OTP, WANTS_3DS, WANTS_ADDRESS, WITHOUT_MONEY, NOT_FOR_TESTS)
# Long and unusual, so that they are not found by chance.
CVV, WRONG_PIN, WRONG_OTP = "8479", "907351", "73190846"
SECRETS = (*CARDS, CVV, WRONG_PIN, WRONG_OTP)
PATTERNS = {
    # Alone: a few digits stand inside many a time or identifier.
    **{code: re.compile(rf"(?<![0-9A-Za-z.]){code}(?![0-9A-Za-z])") for code in (CVV, WRONG_PIN, WRONG_OTP)},
    **{number: re.compile(r"[ -]?".join(number)) for number in CARDS},
}


def found_in(text: str) -> list[str]:
    return [secret for secret in SECRETS if PATTERNS[secret].search(text)]


def with_spaces(number: str) -> str:
    return " ".join(re.findall("....", number))


@pytest.fixture
def all_logs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """Everything that is logged, ours as in production and the libraries', at the lowest level."""
    root = logging.getLogger()
    level, handlers = root.level, root.handlers.copy()
    ours, theirs = io.BytesIO(), io.StringIO()
    configure_logs(as_json=True, level="debug")
    structlog.configure(logger_factory=structlog.BytesLoggerFactory(ours), cache_logger_on_first_use=False)
    for module in (application, error_answer, intake, money_return, notifier):
        monkeypatch.setattr(module, "log", structlog.get_logger())  # A used one may be bound elsewhere.
    root.setLevel(logging.DEBUG)
    root.handlers[:] = [logging.StreamHandler(theirs)]
    yield lambda: ours.getvalue().decode() + theirs.getvalue()
    root.setLevel(level)
    root.handlers[:] = handlers
    log_plainly()


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A day passes between any two requests, as far as the limits can see."""
    days = itertools.count(monotonic_s(), 86_400)
    monkeypatch.setattr(rate_limit, "monotonic_s", lambda: next(days))


async def dump(admin: Any) -> str:
    """Every row of every table, also what lies in there as bytes."""
    tables = await admin.fetch("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
    rows = [row for (table,) in tables for row in await admin.fetch(f'SELECT * FROM "{table}"')]
    return "\n".join(repr([_readable(value) for value in row.values()]) for row in rows)


def _readable(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


async def every_card_flow(new_checkout: MakeCheckout) -> list[str]:
    """What the payer was answered, in words."""
    said: list[str] = []
    answers: list[dict[str, Any]] = [
        {"pin": WRONG_PIN},
        {"otp": WRONG_OTP},
        {"address": ADDRESS},
        {"pin": "1234"},
        {"otp": "123456"},
    ]
    for number in CARDS:
        checkout = await new_checkout()
        said.append((await checkout.charge(card(with_spaces(number), cvv=CVV, holder="Ada Obi"))).text)
        said += [(await checkout.authorize(answer)).text for answer in answers]
        await checkout.tick()
        said.append(str(await checkout.view()))
        said.append(str(await checkout.record()))
    return said


async def every_refused_card(new_checkout: MakeCheckout) -> list[str]:
    checkout = await new_checkout()
    bodies = (
        card(NOT_FOR_TESTS[:-1] + "2", cvv=CVV),
        card(cvv=CVV, expiryMonth=13),
        card(cvv=CVV, holder=NOT_FOR_TESTS),
        card(cvv=NOT_FOR_TESTS),
        {"type": "bank_transfer", "phone": NOT_FOR_TESTS},
        {"type": NOT_FOR_TESTS},
        {"type": "cash", **card(cvv=CVV), NOT_FOR_TESTS: {NOT_FOR_TESTS: NOT_FOR_TESTS}},
    )
    said = [(await checkout.charge(body)).text for body in bodies]
    said.append((await checkout.authorize({"pin": WRONG_PIN, "otp": WRONG_OTP})).text)
    said.append((await checkout.authorize({"address": {**ADDRESS, "line": NOT_FOR_TESTS}})).text)
    said.append((await checkout.sandbox(f"charges/{checkout.pay_code}/decline", {"reason": NOT_FOR_TESTS})).text)
    return said


async def test_no_card_number_cvv_pin_or_code_is_found_anywhere_afterwards(
    new_checkout: MakeCheckout, admin: Any, all_logs: Callable[[], str], unhurried: None
) -> None:
    said = [*await every_card_flow(new_checkout), *await every_refused_card(new_checkout)]
    tables, logs = await dump(admin), all_logs()
    assert (found_in(tables), found_in(logs), found_in("\n".join(said))) == ([], [], [])
    assert not any("RATE_LIMITED" in text for text in said)
    # That the search can find something at all.
    assert "Ada Obi" in tables
    assert "chargeCheckout" in logs
    assert found_in(f"{with_spaces(SUCCEEDS)} '{CVV}'") == [SUCCEEDS, CVV]


async def test_the_first_six_and_last_four_are_all_that_is_kept_of_a_card(
    new_checkout: MakeCheckout, admin: Any
) -> None:
    checkout = await new_checkout()
    await checkout.charge(card(WITHOUT_MONEY, cvv=CVV))
    details = await admin.fetchval("SELECT details FROM attempt")
    assert msgspec.json.decode(details) == {"brand": "visa", "first6": "408408", "last4": "5408"}
    assert await admin.fetchval("SELECT count(*) FROM attempt WHERE attempt::text LIKE '%' || $1 || '%'", CVV) == 0


async def test_an_error_on_the_way_to_the_rail_shows_no_card(
    new_checkout: MakeCheckout, admin: Any, all_logs: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def break_down(_: SandboxRail, order: StartAttempt, **__: Any) -> None:
        raise RuntimeError("the rail broke down", order, order.instrument)

    checkout = await new_checkout()
    monkeypatch.setattr(SandboxRail, "start", break_down)
    answer = await checkout.charge(card(SUCCEEDS, cvv=CVV))
    assert answer.status_code == 500
    logs = all_logs()
    assert "the rail broke down" in logs
    assert (found_in(answer.text), found_in(logs), found_in(await dump(admin))) == ([], [], [])
    assert (await checkout.view())["status"] == "processing", "whether the rail has it is not known"


CHARGE = read(card(with_spaces(NOT_FOR_TESTS), cvv=CVV), wire.Charge)
MEANS, DETAILS = instrument.instrument_from(
    CHARGE,
    Method.CARD,
    Currency.NGN,
    offer=MethodOffer(Money(1, Currency.NGN), False, None),
    account_name="",
    now=datetime(2026, 11, 15, tzinfo=UTC),
)


@pytest.mark.parametrize(
    "holder",
    [
        pytest.param(Card(NOT_FOR_TESTS, 12, 2040, CVV, "Ada Obi"), id="Card"),
        pytest.param(Pin(WRONG_PIN), id="Pin"),
        pytest.param(Otp(WRONG_OTP), id="Otp"),
        pytest.param(CHARGE.card, id="CardFields"),
        pytest.param(CHARGE, id="Charge"),
        pytest.param(read({"pin": WRONG_PIN}, wire.Authorize), id="Authorize with a PIN"),
        pytest.param(read({"otp": WRONG_OTP}, wire.Authorize), id="Authorize with a code"),
        pytest.param(MEANS, id="means"),
        pytest.param(DETAILS, id="details"),
        pytest.param(
            StartAttempt(
                business_id="b",
                reference="r",
                method=Method.CARD,
                amount=Money(1, Currency.NGN),
                instrument=MEANS,
                payer=PayerContact("ada@example.com", "Ada Obi"),
                return_url="https://example.com",
            ),
            id="StartAttempt",
        ),
    ],
)
def test_what_holds_card_data_does_not_show_it(holder: Any) -> None:
    shown = f"{holder!r} {holder} {[holder]} {RuntimeError(holder)}"
    assert found_in(shown) == []


def test_what_is_kept_for_the_rail_is_the_plain_number() -> None:
    assert isinstance(MEANS, Card)
    assert (MEANS.number, MEANS.cvv) == (NOT_FOR_TESTS, CVV)
