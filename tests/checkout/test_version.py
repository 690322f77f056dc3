"""A page can tell news from what it shows already: every answer carries the count of changes as the database has it."""

from __future__ import annotations

from typing import Any

from build import Checkout
from checkout.paying import WANTS_3DS, WANTS_PIN, card
from conftest import MakeCheckout


async def version_of(checkout: Checkout) -> int:
    version: int = (await checkout.view())["version"]
    return version


async def test_looking_changes_nothing(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    assert [await version_of(checkout) for _ in range(2)] == [0, 0]


async def test_polling_a_rail_that_has_no_news_changes_nothing(new_checkout: MakeCheckout, admin: Any) -> None:
    checkout = await new_checkout()
    await checkout.charge(card(WANTS_3DS))
    seen, polled = await version_of(checkout), await admin.fetchval("SELECT polls FROM attempt")
    for _ in range(3):
        await checkout.let_pass("30s")
    assert await admin.fetchval("SELECT polls FROM attempt") >= polled + 3
    assert await version_of(checkout) == seen


async def test_everything_that_a_page_shows_differently_counts(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(settings={"variance_policy": "top_up"})
    seen = [await version_of(checkout)]
    await checkout.charge(card(WANTS_PIN))
    seen.append(await version_of(checkout))
    await checkout.authorize({"pin": "8479"})
    seen.append(await version_of(checkout))
    account = await checkout.account()
    seen.append(await version_of(checkout))
    await checkout.extend()
    seen.append(await version_of(checkout))
    await checkout.transfer(account, "40")
    seen.append(await version_of(checkout))
    await checkout.let_pass("31m")
    seen.append(await version_of(checkout))
    await checkout.let_pass("2h")
    seen.append(await version_of(checkout))
    assert seen == sorted(set(seen)), "each step is later than the one before"


async def test_the_answer_to_a_change_has_the_version_that_is_there_afterwards(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout()
    await checkout.account()
    answer = (await checkout.cancel()).json()["data"]
    assert answer == await checkout.view()
