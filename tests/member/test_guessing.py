"""Guessing passwords is slowed, over all machines, and the owner's own browser gets in all the same."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from dashboard.people import TOKEN, People, SignedInPerson
from member.test_sign_in import GOOD, enrolled, form, joined
from tidegate.core.errors import RateLimited
from tidegate.infra.db import Database
from tidegate.member import sign_in_limit
from tidegate.member.sign_in_limit_store import CountedTries

pytestmark = pytest.mark.usefixtures("unlimited")
NOW = datetime(2026, 11, 17, 9, tzinfo=UTC)
# Into the slowest of the account's pauses, and out of any.
MANY = "UPDATE sign_in_try SET tries = 15"
LATER = "UPDATE sign_in_try SET last_at = last_at - interval '61 seconds'"


@pytest.mark.parametrize(("tries", "pause_s"), [(4, 0), (5, 1), (6, 2), (8, 8), (11, 60), (400, 60)])
def test_an_account_is_slowed_and_never_locked(tries: int, pause_s: int) -> None:
    subject, found = sign_in_limit.ACCOUNT.of("ada@example.com"), CountedTries(tries, NOW, NOW)
    assert sign_in_limit.next_try(subject, found, now=NOW) == (pause_s or CountedTries(tries + 1, NOW, NOW))
    later = NOW + timedelta(seconds=pause_s)
    assert sign_in_limit.next_try(subject, found, now=later) == CountedTries(tries + 1, NOW, later)


def test_an_address_waits_until_its_minute_is_over() -> None:
    subject, found = sign_in_limit.of_address("203.0.113.7")[0], CountedTries(20, NOW, NOW)
    assert sign_in_limit.next_try(subject, found, now=NOW + timedelta(seconds=15)) == 45
    later = NOW + timedelta(seconds=60)
    assert sign_in_limit.next_try(subject, found, now=later) == CountedTries(1, later, later)


async def test_many_tries_at_once_are_counted_one_by_one(db: Database) -> None:
    async def one() -> bool:
        try:
            await sign_in_limit.take(
                db, [sign_in_limit.RESET.of("ada@example.com"), *sign_in_limit.of_address("2001:db8::1")], now=NOW
            )
        except RateLimited:
            return False
        return True

    assert sum(await asyncio.gather(*(one() for _ in range(8)))) == 3


@pytest.mark.parametrize("addresses", [1, 50])
async def test_of_200_wrong_passwords_in_an_hour_few_are_tried_and_the_known_browser_gets_in(
    db: Database, addresses: int
) -> None:
    """One every 18 seconds, from so many machines in turn: the pauses are of the account, wherever it is tried from."""
    account, tried = sign_in_limit.ACCOUNT.of("ada@example.com"), 0
    for number in range(200):
        address, at = f"203.0.113.{number % addresses}", NOW + timedelta(seconds=18 * number)
        try:
            await sign_in_limit.take(db, [account, *sign_in_limit.of_address(address)], now=at)
        except RateLimited:
            continue
        tried += 1
    # Five and five at their own pace, then one in each pause of a minute, of which those tries take 72 s.
    assert 50 < tried < 65
    device = sign_in_limit.DEVICE.of("a browser that has signed in before")
    await sign_in_limit.take(db, [device, *sign_in_limit.of_address("198.51.100.7")], now=NOW + timedelta(hours=1))


async def test_a_stranger_who_guesses_is_slowed_and_the_known_browser_is_not(
    people: People, owner: SignedInPerson
) -> None:
    known, email = await joined(people, owner)
    stranger = people.browser()
    wrong = await form(stranger, "/dashboard/sign-in", email=email, password="not the right one")
    assert wrong.status_code == 422
    await people.admin.execute(MANY)
    slowed = await form(stranger, "/dashboard/sign-in", email=email, password=GOOD)
    assert (slowed.status_code, slowed.headers["retry-after"].isdigit()) == (429, True)
    assert (await form(known, "/dashboard/sign-in", email=email, password=GOOD)).status_code == 303
    await people.admin.execute(LATER)
    assert (await form(stranger, "/dashboard/sign-in", email=email, password=GOOD)).status_code == 303


async def test_codes_are_guessed_no_faster_than_passwords(people: People, owner: SignedInPerson) -> None:
    signed_in, email, _, codes, _ = await enrolled(people, owner)
    browser = people.browser()
    await form(browser, "/dashboard/sign-in", email=email, password=GOOD)
    assert (await form(browser, "/dashboard/second-factor", code="000000")).status_code == 422
    await people.admin.execute(MANY)
    assert (await form(browser, "/dashboard/second-factor", code=codes[0])).status_code == 429
    # As for a fresh proof, in a session that a stranger has taken over.
    await people.admin.execute("UPDATE member_session SET stepped_up_at = NULL")
    page = await signed_in.get(owner.path("/webhooks"))
    fields = {"token": TOKEN.findall(page.text)[0], "url": "https://example.com/", "factor": "000000"}
    assert (await signed_in.post(owner.path("/webhooks/endpoints"), data=fields)).status_code == 422
    await people.admin.execute(MANY)
    fields["factor"] = codes[0]
    slowed = await signed_in.post(owner.path("/webhooks/endpoints"), data=fields)
    assert (slowed.status_code, slowed.headers["retry-after"].isdigit()) == (429, True)
    # The form still waits there, for when the pause is over.
    assert "Send webhooks to https://example.com/" in slowed.text
    assert 'name="url" value="https://example.com/"' in slowed.text


async def test_one_address_tries_many_accounts_no_faster(people: People, owner: SignedInPerson) -> None:
    browser = people.browser()
    assert (await form(browser, "/dashboard/sign-in", email="a@new.example", password="x")).status_code == 422
    await people.admin.execute("UPDATE sign_in_try SET tries = 20")
    assert (await form(browser, "/dashboard/sign-in", email="b@new.example", password="x")).status_code == 429
