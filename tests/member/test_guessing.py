"""Guessing passwords is slowed, and the owner's own browser gets in all the same."""

from __future__ import annotations

import pytest

from dashboard.people import People, SignedInPerson
from member.test_sign_in import GOOD, form, joined
from tidegate.core.clock import monotonic_s
from tidegate.infra import rate_limit


async def test_a_stranger_who_guesses_is_slowed_and_the_known_browser_is_not(
    people: People, owner: SignedInPerson, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = [0.0]
    started_at = monotonic_s()
    monkeypatch.setattr(rate_limit, "monotonic_s", lambda: started_at + 10_000 + passed[0])
    known, email = await joined(people, owner)
    stranger = people.browser()
    statuses = []
    for _ in range(8):
        # The limit of the address is another one.
        passed[0] += 3.1
        answer = await form(stranger, "/dashboard/sign-in", email=email, password="not the right one")
        statuses.append(answer.status_code)
    assert statuses == [422] * 5 + [429] * 3
    slowed = await form(stranger, "/dashboard/sign-in", email=email, password=GOOD)
    assert (slowed.status_code, slowed.headers["retry-after"].isdigit()) == (429, True)
    passed[0] += 3.1
    assert (await form(known, "/dashboard/sign-in", email=email, password=GOOD)).status_code == 303
    passed[0] += 60
    assert (await form(stranger, "/dashboard/sign-in", email=email, password=GOOD)).status_code == 303


async def test_one_address_tries_twenty_times_a_minute(
    people: People, owner: SignedInPerson, monkeypatch: pytest.MonkeyPatch
) -> None:
    started_at = monotonic_s()
    monkeypatch.setattr(rate_limit, "monotonic_s", lambda: started_at + 90_000)
    browser = people.browser()
    statuses = [
        (await form(browser, "/dashboard/sign-in", email=f"{number}@new.example", password="x")).status_code
        for number in range(22)
    ]
    assert statuses == [422] * 20 + [429] * 2
