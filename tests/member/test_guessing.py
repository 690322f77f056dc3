"""Guessing passwords is slowed, and the owner's own browser gets in all the same."""

from __future__ import annotations

import pytest

from dashboard.people import TOKEN, People, SignedInPerson
from member.test_sign_in import GOOD, enrolled, form, joined
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


async def test_codes_are_guessed_no_faster_than_passwords(
    people: People, owner: SignedInPerson, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed, started_at = [0.0], monotonic_s()
    monkeypatch.setattr(rate_limit, "monotonic_s", lambda: started_at + 200_000 + passed[0])
    signed_in, email, _, codes = await enrolled(people, owner)
    statuses = []
    for _ in range(2):
        browser = people.browser()
        passed[0] += 10
        await form(browser, "/dashboard/sign-in", email=email, password=GOOD)
        for _ in range(4):
            passed[0] += 3.1
            statuses.append((await form(browser, "/dashboard/second-factor", code="000000")).status_code)
    assert statuses[:5] == [422] * 5
    assert 429 in statuses[5:]
    # As for a fresh proof, in a session that a stranger has taken over.
    await people.admin.execute("UPDATE member_session SET stepped_up_at = NULL")
    page = await signed_in.get(owner.path("/webhooks"))
    fields = {"token": TOKEN.findall(page.text)[0], "url": "https://example.com/", "factor": "000000"}
    tries = [(await signed_in.post(owner.path("/webhooks/endpoints"), data=fields)).status_code for _ in range(6)]
    assert tries == [422] * 5 + [429]
    fields["factor"] = codes[0]
    assert (await signed_in.post(owner.path("/webhooks/endpoints"), data=fields)).status_code == 429


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
