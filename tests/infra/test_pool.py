"""Connections: lent to one at a time, handed on in turn, and closed when their state is in doubt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from tidegate.infra.pool import Pool, PoolClosed

WAIT_S = 5.0


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    made = Pool(lambda: asyncpg.connect(database_url), connections_max=2, wait_s=WAIT_S)
    yield made
    await made.close()


async def test_a_connection_that_came_back_is_lent_again(pool: Pool) -> None:
    first = await pool.take()
    pool.give_back(first, is_sound=True)
    assert await pool.take() is first


async def test_there_are_never_more_than_allowed(pool: Pool) -> None:
    lent: set[Any] = set()
    most = 0

    async def use() -> None:
        nonlocal most
        connection = await pool.take()
        assert connection not in lent
        lent.add(connection)
        most = max(most, len(lent))
        assert await connection.fetchval("SELECT 1") == 1
        lent.discard(connection)
        pool.give_back(connection, is_sound=True)

    await asyncio.gather(*(use() for _ in range(20)))
    assert most <= 2


async def test_who_waits_longest_is_served_first(pool: Pool) -> None:
    held = [await pool.take(), await pool.take()]
    order: list[int] = []

    async def wait(number: int) -> None:
        connection = await pool.take()
        order.append(number)
        pool.give_back(connection, is_sound=True)

    waiting = [asyncio.create_task(wait(number)) for number in range(5)]
    await asyncio.sleep(0)
    pool.give_back(held[0], is_sound=True)
    await asyncio.gather(*waiting)
    pool.give_back(held[1], is_sound=True)
    assert order == [0, 1, 2, 3, 4]


async def test_a_caller_that_waits_too_long_gets_an_error(database_url: str) -> None:
    pool = Pool(lambda: asyncpg.connect(database_url), connections_max=1, wait_s=0.01)
    held = await pool.take()
    with pytest.raises(TimeoutError):
        await pool.take()
    pool.give_back(held, is_sound=True)
    assert await pool.take() is held
    await pool.close()


@pytest.mark.parametrize("is_sound", [True, False])
async def test_a_connection_in_doubt_is_closed_and_frees_its_slot(pool: Pool, is_sound: bool) -> None:
    for _ in range(5):
        connection = await pool.take()
        if is_sound:
            await connection.execute("BEGIN")  # Left open: nobody knows what would be in it.
        pool.give_back(connection, is_sound=is_sound)
        assert connection.is_closed()


async def test_the_slot_of_a_lost_connection_goes_to_a_waiting_caller(pool: Pool) -> None:
    held = [await pool.take(), await pool.take()]
    waiting = asyncio.create_task(pool.take())
    await asyncio.sleep(0)
    pool.give_back(held[0], is_sound=False)
    fresh = await waiting
    assert fresh not in held
    pool.give_back(fresh, is_sound=True)
    pool.give_back(held[1], is_sound=True)


async def test_nothing_is_lost_when_who_waits_goes_away(pool: Pool) -> None:
    held = [await pool.take(), await pool.take()]
    leaving = asyncio.create_task(pool.take())
    await asyncio.sleep(0)
    # Handed over and cancelled in the same turn of the loop.
    pool.give_back(held[0], is_sound=True)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert await pool.take() is held[0]
    for connection in held:
        pool.give_back(connection, is_sound=True)


async def test_an_unreachable_server_costs_no_slot() -> None:
    async def refuse() -> Any:
        raise ConnectionRefusedError

    pool = Pool(refuse, connections_max=1, wait_s=WAIT_S)
    for _ in range(3):
        with pytest.raises(ConnectionRefusedError):
            await pool.take()


async def test_a_closed_pool_gives_no_connection(pool: Pool) -> None:
    held = [await pool.take(), await pool.take()]
    waiting = asyncio.create_task(pool.take())
    await asyncio.sleep(0)
    await pool.close()
    with pytest.raises(PoolClosed):
        await waiting
    with pytest.raises(PoolClosed):
        await pool.take()
    assert all(connection.is_closed() for connection in held)
