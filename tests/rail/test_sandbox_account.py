"""Permanent accounts: one for each reference, with numbers that every check takes and no real bank has."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rail.world import NOW, World, later, make_world
from tidegate.core.bank_number import is_bic, is_iban, routing_number_of
from tidegate.core.errors import Conflict, Invalid
from tidegate.core.money import ACCOUNT_OFFERS, Currency, Money
from tidegate.infra.db import Database
from tidegate.rail.event import MoneyArrived
from tidegate.rail.interface import AccountDetails, OpenAccount
from tidegate.rail.sandbox.account import details_of
from tidegate.rail.sandbox.begin import account_number


@pytest.fixture
async def world(db: Database) -> World:
    return await make_world(db)


def order(world: World, reference: str = "acc-1", currency: Currency = Currency.EUR) -> OpenAccount:
    return OpenAccount(
        business_id=world.business_id, reference=reference, currency=currency, holder="Adaeze Obi-Müller"
    )


async def opened(world: World, reference: str = "acc-1", currency: Currency = Currency.EUR) -> AccountDetails:
    return await world.rail.open_account(order(world, reference, currency), now=NOW)


async def test_a_euro_account_has_an_iban_and_a_bic(world: World) -> None:
    details = await opened(world)
    assert details.iban is not None
    assert is_iban(details.iban)
    assert details.account_number == details.iban
    assert details.iban[:2] == details.country_code == "DE"
    assert details.iban[4:] == details.bank_code + details.local_number
    assert (len(details.bank_code), len(details.local_number)) == (8, 10)
    assert details.swift_code is not None
    assert is_bic(details.swift_code)
    assert details.swift_code[4:6] == "DE"
    assert details.bank_name == "Tidegate Test Bank"


async def test_a_dollar_account_has_a_number_and_a_routing_number(world: World) -> None:
    details = await opened(world, currency=Currency.USD)
    assert details.iban is None
    assert details.account_number == details.local_number
    assert details.account_number.isdigit()
    assert len(details.account_number) == 12
    assert details.bank_code == routing_number_of(details.bank_code[:8])
    assert details.swift_code is not None
    assert is_bic(details.swift_code)
    assert details.swift_code[4:6] == details.country_code == "US"
    assert details.bank_name == "Tidegate Test Bank"


async def test_the_banks_numbers_are_those_of_no_real_bank(world: World) -> None:
    euro, dollar = await opened(world), await opened(world, "acc-2", Currency.USD)
    assert euro.bank_code[0] not in "12345678", "German clearing areas"
    assert dollar.bank_code[:2] == "80", "once for traveller's cheques, never for accounts"
    assert [details.swift_code[7] for details in (euro, dollar) if details.swift_code] == ["0", "0"], "a BIC for tests"


@pytest.mark.parametrize("currency", sorted(ACCOUNT_OFFERS))
async def test_one_reference_is_one_account_also_when_asked_ten_times_at_once(
    world: World, admin: Any, currency: Currency
) -> None:
    first, *others = await asyncio.gather(*(opened(world, currency=currency) for _ in range(10)))
    assert others == [first] * 9
    assert await world.rail.open_account(order(world, currency=currency), now=later(days=900)) == first
    assert await admin.fetchval("SELECT count(*) FROM sandbox_account") == 1


async def test_other_references_and_other_businesses_have_other_accounts(world: World, db: Database) -> None:
    other = await make_world(db)
    accounts = [await opened(world), await opened(world, "acc-2"), await opened(other)]
    assert len({one.account_number for one in accounts}) == len({one.reference for one in accounts}) == 3


async def test_a_reference_of_one_currency_is_refused_for_another(world: World) -> None:
    await opened(world)
    with pytest.raises(Conflict, match="EUR"):
        await opened(world, currency=Currency.USD)


async def test_only_currencies_that_the_rail_says_it_has_are_opened(world: World, admin: Any) -> None:
    assert world.rail.capabilities.account_currencies == set(ACCOUNT_OFFERS)
    for currency in set(Currency) - set(ACCOUNT_OFFERS):
        with pytest.raises(Invalid) as refused:
            await opened(world, currency=currency)
        assert refused.value.problems[0].field == "currency"
    assert await admin.fetchval("SELECT count(*) FROM sandbox_account") == 0


async def test_an_account_stays_when_the_business_is_emptied(world: World) -> None:
    before = await opened(world)
    await world.rail.forget(world.business_id)
    assert await opened(world) == before


async def test_money_for_an_iban_typed_in_groups_is_notified_for_the_account_itself(world: World) -> None:
    details = await opened(world)
    typed = " ".join(details.account_number[at : at + 4] for at in range(0, 22, 4)).lower()
    await world.send(typed, Money(12_34, Currency.EUR))
    [notification] = await world.notifications()
    assert isinstance(notification.event, MoneyArrived)
    assert notification.event.account_number == details.account_number


def test_different_serials_give_different_numbers_and_none_of_a_temporary_account() -> None:
    serials = [*range(1, 2_000), *range(10**9 - 2_000, 10**9)]
    for currency in ACCOUNT_OFFERS:
        made = {details_of(currency, serial=serial, reference="").account_number for serial in serials}
        assert len(made) == len(serials)
        assert not made & {account_number(any_currency, serial) for serial in serials for any_currency in Currency}
    lengths = {len(account_number(currency, 1)) for currency in Currency}
    assert len(details_of(Currency.USD, serial=1, reference="").account_number) not in lengths
