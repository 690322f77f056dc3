"""Who is let in, who waits before the door, and who is told that there is no room."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tidegate.infra.gathering import Backlog
from tidegate.infra.http import places as places_module
from tidegate.infra.http.places import IS_LET_IN, Places

AT_ONCE = 4
TOGETHER = 2
MOST = 10
# Only a room that forgets somebody makes anybody wait as long.
PATIENCE_S = 60.0


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places_module, "READ_AT_ONCE", AT_ONCE)
    monkeypatch.setattr(places_module, "TOGETHER_MAX", TOGETHER)
    monkeypatch.setattr(places_module, "IN_FLIGHT_MAX", MOST)
    # Else a test in which nobody leaves would see them enter all the same.
    monkeypatch.setattr(places_module, "LOOK_EVERY_S", 3_600)


class House:
    """Places, and who is inside. Whoever enters waits for the database at once."""

    def __init__(self) -> None:
        self.backlog = Backlog()
        self.places = Places(self.backlog)
        self.inside: list[dict[str, Any]] = []
        self.entered: list[str] = []

    def come(self, count: int = 1, path: str = "/thing") -> None:
        """Their tasks are made, and have not run."""
        for _ in range(count):
            scope = {"path": path}
            self.places.take(scope)
            self.inside.append(scope)

    def begin(self, count: int) -> None:
        for _ in range(count):
            self.places.begin()

    def leave(self, count: int = 1) -> None:
        for _ in range(count):
            self.places.leave(self.inside.pop(0))

    def is_crowded(self) -> bool:
        return self.places.is_crowded

    def is_full(self) -> bool:
        return self.places.is_full

    def crowd(self) -> None:
        """All inside have begun, and a whole group of them waits for the database."""
        self.come(AT_ONCE)
        self.begin(AT_ONCE)
        self.backlog.waiting = TOGETHER
        assert self.places.is_crowded

    def wait(self, *names: str) -> None:
        for name in names:
            self.places.wait(Guest(self, name))


class Guest:
    def __init__(self, house: House, name: str) -> None:
        self._house = house
        self._name = name
        self.has_entered = asyncio.Event()
        self.has_given_up = asyncio.Event()

    def enter(self) -> None:
        self._house.entered.append(self._name)
        self._house.come()
        self.has_entered.set()

    def give_up(self) -> None:
        self.has_given_up.set()


# Crowded.


def test_many_inside_are_no_crowd_while_fewer_than_a_group_wait_for_the_database() -> None:
    house = House()
    house.come(AT_ONCE)
    house.begin(AT_ONCE)
    house.backlog.waiting = TOGETHER - 1
    assert not house.is_crowded()
    house.backlog.waiting = TOGETHER
    assert house.is_crowded()


def test_a_group_that_waits_is_no_crowd_while_there_are_few_inside() -> None:
    house = House()
    house.backlog.waiting = TOGETHER
    house.come(AT_ONCE - 1)
    house.begin(AT_ONCE - 1)
    assert not house.is_crowded()
    house.come()
    house.begin(1)
    assert house.is_crowded()


def test_who_has_not_begun_may_want_the_database_and_counts_as_if_it_waited_there() -> None:
    house = House()
    house.come(AT_ONCE)
    assert house.is_crowded()
    house.begin(AT_ONCE - TOGETHER)
    assert house.is_crowded()
    house.begin(1)
    assert not house.is_crowded()
    house.backlog.waiting = 1  # Together they are a group.
    assert house.is_crowded()


# Waiting.


async def test_who_waits_enters_in_order_as_others_leave() -> None:
    house = House()
    house.crowd()
    house.wait("a", "b", "c")
    assert house.entered == []
    house.leave()
    assert house.entered == ["a"]
    house.leave()
    assert house.entered == ["a", "b"]


async def test_when_the_group_has_gone_to_the_database_the_next_enters() -> None:
    house = House()
    house.crowd()
    house.wait("a", "b", "c", "d")
    house.backlog.waiting = 0
    house.leave()
    # One for the place that is free, and then until they are a group themselves.
    assert house.entered == ["a", "b"]


async def test_the_last_one_inside_forgets_nobody() -> None:
    house = House()
    house.crowd()
    house.wait("a", "b", "c")
    for scope in list(house.inside):
        house.places.leave(scope)
        house.backlog.waiting = TOGETHER  # Whoever leaves, another waits: places alone let them in.
    assert house.entered == ["a", "b", "c"]


async def test_who_waits_goes_before_who_comes_now() -> None:
    house = House()
    house.crowd()
    house.wait("a", "b")
    house.places.let_in()
    assert house.entered == []
    house.backlog.waiting = 0
    house.places.let_in()
    assert house.entered == ["a", "b"]


async def test_a_crowd_that_goes_elsewhere_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as to a rail, from where none of them may come back for half a minute."""
    monkeypatch.setattr(places_module, "LOOK_EVERY_S", 0.001)
    house = House()
    house.crowd()
    guest = Guest(house, "a")
    house.places.wait(guest)
    looked = house.places._timer
    async with asyncio.timeout(PATIENCE_S):
        while house.places._timer is looked:  # noqa: ASYNC110 - it looks more than once, and tells nobody
            await asyncio.sleep(0.001)
    assert not guest.has_entered.is_set()
    house.backlog.waiting = 0
    async with asyncio.timeout(PATIENCE_S):
        await guest.has_entered.wait()
    assert house.places._timer is None  # And no longer than somebody waits.


async def test_who_has_gone_is_not_let_in_and_those_behind_are() -> None:
    house = House()
    house.crowd()
    leaving = Guest(house, "leaving")
    house.wait("a")
    house.places.wait(leaving)
    house.wait("b")
    house.places.forget(leaving)
    house.leave(2)
    assert house.entered == ["a", "b"]


async def test_who_has_waited_too_long_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places_module, "LOOK_EVERY_S", 0.001)
    monkeypatch.setattr(places_module, "UNREAD_S", 0.02)
    house = House()
    house.crowd()
    guest = Guest(house, "a")
    house.places.wait(guest)
    async with asyncio.timeout(PATIENCE_S):
        await guest.has_given_up.wait()
    house.leave(AT_ONCE)
    assert house.entered == []


async def test_who_has_not_waited_too_long_is_told_nothing() -> None:
    house = House()
    house.crowd()
    guest = Guest(house, "a")
    house.places.wait(guest)
    house.places._look()
    assert not guest.has_given_up.is_set()
    house.leave(AT_ONCE)
    assert house.entered == ["a"]


# Full.


async def test_who_waits_takes_a_place_like_who_is_inside() -> None:
    house = House()
    house.crowd()
    leaving = Guest(house, "leaving")
    house.wait(*"abcde")
    assert not house.is_full()
    house.places.wait(leaving)
    assert house.is_full()
    house.places.forget(leaving)
    assert not house.is_full()


def test_one_too_many_is_not_let_in_unless_it_asks_for_our_health() -> None:
    house = House()
    house.come(MOST)
    assert all(scope[IS_LET_IN] for scope in house.inside)
    house.come()
    house.come(path="/healthz")
    assert [scope[IS_LET_IN] for scope in house.inside[MOST:]] == [False, True]


# Counting.


async def test_all_who_came_leave_nothing_behind() -> None:
    house = House()
    house.come(3)
    assert (house.places._in_flight, house.places._beginning) == (3, 3)
    house.begin(3)
    assert (house.places._in_flight, house.places._beginning) == (3, 0)
    house.leave(3)
    assert (house.places._in_flight, house.places._beginning) == (0, 0)


async def test_who_leaves_twice_gives_up_one_place() -> None:
    """A stream does it early, and again when it ends."""
    house = House()
    house.come(2)
    first = house.inside[0]
    house.places.leave(first)
    house.places.leave(first)
    assert house.places._in_flight == 1
