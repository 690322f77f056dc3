"""Notifications are believed only when the rail itself signed them, just now, and they can be read."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rail.world import NOW, SECRET, later
from tidegate.core.money import Currency, Money
from tidegate.rail.action import FailureReason
from tidegate.rail.event import (
    AttemptOutcome,
    CreditReversed,
    MoneyArrived,
    Notification,
    RawNotification,
    ReturnConfirmed,
)
from tidegate.rail.interface import NotificationRefused, NotificationUnreadable
from tidegate.rail.sandbox import signed_notification
from tidegate.rail.sandbox.signed_notification import BODY_BYTES_MAX, SIGNATURE_HEADER, sign, write
from tidegate.rail.state import Failed, Party, Succeeded

NOTIFICATION = Notification(
    id="attempt-1",
    event=AttemptOutcome(business_id="b", reference="r", state=Succeeded("t", Money(10_151, Currency.NGN))),
)
BODY = write(NOTIFICATION)
RAW = sign(BODY, SECRET, now=NOW)


def read(raw: RawNotification, now: datetime = NOW) -> list[Notification]:
    """As the rail does, which needs no database for it."""
    signed_notification.check(raw, SECRET, now=now)
    return [signed_notification.read(raw.body)]


def with_header(value: str) -> RawNotification:
    return RawNotification(BODY, {SIGNATURE_HEADER: value})


def test_what_the_rail_signed_is_read() -> None:
    assert read(RAW) == [NOTIFICATION]


def test_the_signature_is_what_the_documentation_says() -> None:
    sent_at_s = int(NOW.timestamp())
    expected = hmac.new(SECRET, f"{sent_at_s}.".encode() + BODY, hashlib.sha256).hexdigest()
    assert RAW.headers[SIGNATURE_HEADER] == f"t={sent_at_s},v1={expected}"


def test_an_amount_is_text_in_minor_units() -> None:
    assert json.loads(BODY)["amount"] == "10151"


@pytest.mark.parametrize("place", range(0, len(BODY), 7))
def test_a_changed_byte_is_refused(place: int) -> None:
    changed = bytearray(BODY)
    changed[place] ^= 1
    with pytest.raises(NotificationRefused, match="signature is wrong"):
        read(RawNotification(bytes(changed), RAW.headers))


def test_another_secret_is_refused() -> None:
    with pytest.raises(NotificationRefused, match="signature is wrong"):
        read(sign(BODY, b"another secret of the same kind", now=NOW))


def test_another_time_stamp_is_refused() -> None:
    moved = RAW.headers[SIGNATURE_HEADER].replace(f"t={int(NOW.timestamp())}", f"t={int(NOW.timestamp()) + 1}")
    with pytest.raises(NotificationRefused, match="signature is wrong"):
        read(with_header(moved))


@pytest.mark.parametrize("now", [later(seconds=301), NOW - timedelta(seconds=301), later(days=400)])
def test_a_stale_or_future_signature_is_refused(now: datetime) -> None:
    with pytest.raises(NotificationRefused, match="300 seconds"):
        read(RAW, now)


@pytest.mark.parametrize("now", [later(seconds=300), NOW - timedelta(seconds=300)])
def test_five_minutes_either_way_are_allowed(now: datetime) -> None:
    assert read(RAW, now) == [NOTIFICATION]


def test_a_missing_signature_is_refused() -> None:
    with pytest.raises(NotificationRefused, match="missing"):
        read(RawNotification(BODY, {}))


SIGNATURE = RAW.headers[SIGNATURE_HEADER]


@pytest.mark.parametrize(
    "header",
    [
        "",
        "junk",
        "t=,v1=",
        SIGNATURE.upper(),
        f" {SIGNATURE}",
        f"{SIGNATURE}\n",
        f"{SIGNATURE},v1=00",
        SIGNATURE[:-1],
        SIGNATURE.replace("v1", "v0"),
        SIGNATURE.replace("t=", "t=-"),
        SIGNATURE.replace("t=1", "t=\u0661"),
        f"t={'9' * 400},v1={'0' * 64}",
    ],
)
def test_a_junk_signature_is_refused(header: str) -> None:
    with pytest.raises(NotificationRefused, match="not of the form"):
        read(with_header(header))


CREDIT = write(
    Notification(
        id="credit-1",
        event=MoneyArrived(
            account_number="DE89370400440532013000",
            transaction_id="t",
            amount=Money(10_151, Currency.USD),
            payer=Party(name="Ada Obi"),
            payee_name="Test Shop",
            scheme="sepa",
            remittance=None,
            valued_at=NOW,
        ),
    )
)
REVERSAL = write(
    Notification(
        id="reversal-1",
        event=CreditReversed(
            account_number="DE89370400440532013000",
            transaction_id="t",
            reversal_id="v",
            amount=Money(10_151, Currency.USD),
            reason="sent twice",
        ),
    )
)


def changed(body: bytes = BODY, **changes: Any) -> bytes:
    fields = {**json.loads(body), **changes}
    return json.dumps({key: value for key, value in fields.items() if value is not ...}).encode()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"junk",
        b"null",
        b"[]",
        b"[" * 10_000,
        b"\xff",
        b"\xef\xbb\xbf" + BODY,
        BODY + BODY,
        BODY[:-1] + b',"id":"again"}',
        b" " * (BODY_BYTES_MAX + 1),
        changed(type="attempt.invented"),
        changed(type=...),
        changed(id=""),
        changed(id=...),
        changed(extra=1),
        changed(currency="XXX"),
        changed(amount=100.0),
        changed(amount=100.5),
        changed(amount="100.5"),
        changed(amount="1e3"),
        changed(amount="100\n"),
        changed(amount=" 100"),
        changed(amount="\u0661"),
        changed(amount=""),
        changed(amount=True),
        changed(amount=None),
        changed(amount="0"),
        changed(amount=0),
        changed(amount=-1),
        changed(amount=10**18),
        changed(amount=10**80),
        changed(reference="a\0b"),
        BODY.replace(b'"10151"', b"NaN"),
        BODY.replace(b'"10151"', b"1" * 5_000),
    ],
    ids=lambda body: body[:60].decode(errors="replace").strip(),
)
def test_a_junk_body_is_unreadable_even_when_signed(body: bytes) -> None:
    with pytest.raises(NotificationUnreadable):
        read(sign(body, SECRET, now=NOW))


@pytest.mark.parametrize("body", [CREDIT, REVERSAL])
@pytest.mark.parametrize(
    "amount",
    [
        0, "0", -1, "-1", 10**18, "1.001", "100.5", "1e3", "1e9999", "", " 1", "+1", "1_000", "٣", 1.5, True, None, [1],
        {"minor": 1}, ...,
    ],
)  # fmt: skip
def test_money_that_came_or_went_has_an_amount(body: bytes, amount: Any) -> None:
    with pytest.raises(NotificationUnreadable):
        read(sign(changed(body, amount=amount), SECRET, now=NOW))


@pytest.mark.parametrize("body", [CREDIT, REVERSAL])
def test_an_amount_that_would_fill_the_memory_is_unreadable(body: bytes) -> None:
    with pytest.raises(NotificationUnreadable):
        read(sign(body.replace(b'"10151"', b"1e9999"), SECRET, now=NOW))


@pytest.mark.parametrize(
    "body",
    [
        *(changed(CREDIT, **{name: ...}) for name in json.loads(CREDIT)),
        *(changed(CREDIT, **{name: 7}) for name in json.loads(CREDIT) if name != "amount"),
        *(changed(CREDIT, **{name: ""}) for name in ("id", "accountNumber", "transactionId", "scheme", "valuedAt")),
        changed(CREDIT, valuedAt="2026-03-14"),
        changed(CREDIT, valuedAt="2026-03-14T09:26:53"),
        changed(CREDIT, valuedAt="2026-02-30T00:00:00Z"),
        changed(CREDIT, payer=None),
        changed(CREDIT, payer={"name": "Ada Obi"}),
        changed(CREDIT, reversalId="v"),
        *(changed(REVERSAL, **{name: ...}) for name in json.loads(REVERSAL)),
        *(changed(REVERSAL, **{name: 7}) for name in json.loads(REVERSAL) if name != "amount"),
        *(changed(REVERSAL, **{name: ""}) for name in json.loads(REVERSAL)),
        # A chargeback names no account.
        *(changed(REVERSAL, **{name: None}) for name in json.loads(REVERSAL) if name != "accountNumber"),
        changed(REVERSAL, currency="usd"),
        changed(REVERSAL, reason="x" * 1_001),
        changed(REVERSAL, payer=None),
        changed(REVERSAL, type="account.credited"),
    ],
    ids=lambda body: body[:60].decode(errors="replace"),
)
def test_a_junk_credit_or_reversal_is_unreadable_even_when_signed(body: bytes) -> None:
    with pytest.raises(NotificationUnreadable):
        read(sign(body, SECRET, now=NOW))


def test_the_credit_and_the_reversal_these_tests_spoil_are_read() -> None:
    assert [type(read(sign(body, SECRET, now=NOW))[0].event) for body in (CREDIT, REVERSAL)] == [
        MoneyArrived,
        CreditReversed,
    ]


def test_a_whole_number_is_an_amount_too() -> None:
    [notification] = read(sign(changed(amount=10_151), SECRET, now=NOW))
    assert notification == NOTIFICATION


@given(st.binary(max_size=300), st.text(max_size=120))
def test_arbitrary_bytes_are_only_ever_refused(body: bytes, header: str) -> None:
    with pytest.raises(NotificationRefused):
        read(RawNotification(body, {SIGNATURE_HEADER: header}))
    with pytest.raises(NotificationUnreadable):
        read(sign(body, SECRET, now=NOW))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from(
    [*json.loads(BODY), "accountNumber", "payer", "payeeName", "scheme", "remittance", "valuedAt", "reversalId"]
)
kinds = st.sampled_from(["attempt.succeeded", "attempt.failed", "account.credited", "return.left", "credit.reversed"])


@given(kinds, st.dictionaries(keys, json_values))
def test_signed_json_of_the_right_kind_is_read_or_refused(kind: str, fields: dict[str, Any]) -> None:
    body = json.dumps({**json.loads(BODY), **fields, "type": kind}).encode()
    try:
        notifications = read(sign(body, SECRET, now=NOW))
    except NotificationUnreadable:
        return
    assert len(notifications) == 1


texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=40)
moneys = st.builds(Money, st.integers(1, 10**15), st.sampled_from(Currency))
states = st.builds(Succeeded, texts, moneys) | st.builds(Failed, st.sampled_from(FailureReason))
perhaps = st.none() | texts
parties = st.builds(Party, name=perhaps, account_number=perhaps, bank_name=perhaps, bank_code=perhaps)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
events = (
    st.builds(AttemptOutcome, business_id=texts, reference=texts, state=states)
    | st.builds(ReturnConfirmed, business_id=texts, reference=texts, transaction_id=texts)
    | st.builds(
        MoneyArrived,
        account_number=texts,
        transaction_id=texts,
        amount=moneys,
        payer=parties,
        payee_name=perhaps,
        scheme=texts,
        remittance=perhaps,
        valued_at=moments,
    )
    | st.builds(
        CreditReversed, account_number=texts, transaction_id=texts, reversal_id=texts, amount=moneys, reason=texts
    )
)


@given(st.builds(Notification, id=texts, event=events))
def test_what_is_written_is_read_again(notification: Notification) -> None:
    assert read(sign(write(notification), SECRET, now=NOW)) == [notification]
