"""While a whole group waits for the database, others wait as the bytes that came; and all are answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response

from build import make_shop, order
from conftest import ENCRYPTION_KEY
from payment.raw_http import Wire, open_wire
from serving import serving, serving_front_door
from tidegate.infra import gathering
from tidegate.infra.db import Database
from tidegate.infra.gathering import Backlog, Gathering
from tidegate.infra.http import places, protocol
from tidegate.infra.http.front_door import FrontDoor
from tidegate.infra.http.protocol import GuardedProtocol
from tidegate.infra.http.routing import answering
from tidegate.infra.telemetry import Meter
from tidegate.settings import Settings

# One is with the database, the next waits for it, and all others wait before the door.
INSIDE = 2
GROUP = 1
# Only a server that forgets somebody makes anybody wait as long.
PATIENCE_S = 60.0
NEVER_S = 3_600


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "READ_AT_ONCE", INSIDE)
    monkeypatch.setattr(places, "TOGETHER_MAX", GROUP)
    # Whoever enters does so because somebody left.
    monkeypatch.setattr(places, "LOOK_EVERY_S", NEVER_S)
    # Else those inside are told that the database is stuck, as it is here.
    monkeypatch.setattr(gathering, "WAIT_S", PATIENCE_S)


class World:
    """A server whose database and whose rail answer when they are let."""

    def __init__(self) -> None:
        self.database_may_go = asyncio.Event()
        self.rail_may_go = asyncio.Event()
        # In the order in which they came inside.
        self.came: list[bytes] = []
        self._backlog = Backlog()
        self._kept = Gathering(self._keep_all, backlog=self._backlog, lanes=1, together_max=GROUP)
        self.url = ""
        self.door = FrontDoor(
            [
                answering("/keep", self._keep, methods=["POST"]),
                answering("/rail", self._ask_rail, methods=["POST"]),
                answering("/healthz", self._health),
            ],
            lifespan=_nothing_to_open,
            meter=Meter(),
            backlog=self._backlog,
        )

    async def _keep_all(self, names: Sequence[bytes]) -> list[bytes]:
        await self.database_may_go.wait()
        return list(names)

    async def _keep(self, request: Request) -> Response:
        name = await request.body()
        self.came.append(name)
        return Response(b"kept " + await self._kept.do(name))

    async def _ask_rail(self, request: Request) -> Response:
        name = await request.body()
        self.came.append(name)
        await self.rail_may_go.wait()
        return Response(b"asked " + name)

    async def _health(self, _: Request) -> Response:
        return Response(b"well")

    @property
    def waiting(self) -> list[GuardedProtocol]:
        """The connections whose requests wait before the door."""
        return [cast("GuardedProtocol", comer) for comer in self.door.places._unread]

    @property
    def counts(self) -> tuple[int, int, int, int]:
        room = self.door.places
        return room._in_flight, room._beginning, len(room._unread), self._backlog.waiting

    async def waits(self, count: int) -> None:
        await until(lambda: len(self.waiting) == count)


@asynccontextmanager
async def _nothing_to_open() -> AsyncIterator[None]:
    yield


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in the server
            await asyncio.sleep(0.005)


def post(name: bytes, path: bytes = b"/keep") -> bytes:
    return b"POST %s HTTP/1.1\r\nhost: test\r\ncontent-length: %d\r\n\r\n%s" % (path, len(name), name)


@asynccontextmanager
async def serving_world() -> AsyncIterator[World]:
    world = World()
    async with serving_front_door(lambda _: world.door) as (world.url, _):
        try:
            yield world
        finally:
            # Else a test that fails would wait for those who are still inside.
            world.database_may_go.set()
            world.rail_may_go.set()


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with serving_world() as opened:
        yield opened


async def fill(world: World, clients: AsyncExitStack) -> list[Wire]:
    """As many as are read."""
    wires = []
    for number in range(INSIDE):
        wires.append(await send(world, clients, post(b"inside-%d" % number)))
        await until(lambda: len(world.came) == len(wires))
    await until(lambda: world.door.places.is_crowded)
    return wires


async def send(world: World, clients: AsyncExitStack, data: bytes) -> Wire:
    wire = await clients.enter_async_context(open_wire(world.url))
    await wire.send(data)
    return wire


async def said(wire: Wire) -> bytes:
    answer = await wire.answer()
    assert answer.status_code == 200, answer.text
    return answer.content


# Everybody is answered.


async def test_who_waits_enters_in_order_and_everybody_gets_an_answer_of_their_own(world: World) -> None:
    names = [b"waiting-%d" % number for number in range(20)]
    async with AsyncExitStack() as clients:
        inside = await fill(world, clients)
        wires = []
        for name in names:
            wires.append(await send(world, clients, post(name)))
            await world.waits(len(wires))
        assert world.came == [b"inside-0", b"inside-1"]
        world.database_may_go.set()
        assert [await said(wire) for wire in wires] == [b"kept " + name for name in names]
        assert [await said(wire) for wire in inside] == [b"kept inside-0", b"kept inside-1"]
        assert world.came[INSIDE:] == names
        # A connection on which somebody waited is as good as any.
        await wires[0].send(post(b"again"))
        assert await said(wires[0]) == b"kept again"
    await until(lambda: world.counts == (0, 0, 0, 0))


async def test_requests_in_a_row_are_answered_in_a_row(world: World) -> None:
    async with AsyncExitStack() as clients:
        await fill(world, clients)
        wire = await send(world, clients, post(b"first") + post(b"second"))
        await world.waits(1)
        await wire.send(post(b"third"))
        await until(lambda: b"third" in world.waiting[0]._unread)
        world.database_may_go.set()
        assert [await said(wire) for _ in range(3)] == [b"kept first", b"kept second", b"kept third"]
    await until(lambda: world.counts == (0, 0, 0, 0))


async def test_a_body_that_comes_in_pieces_arrives_whole(world: World) -> None:
    """One piece with the head, one while it waits, and one when it is inside."""
    request = post(b"one two three")
    async with AsyncExitStack() as clients:
        await fill(world, clients)
        wire = await send(world, clients, request.removesuffix(b" two three"))
        await world.waits(1)
        await wire.send(b" two")
        await until(lambda: world.waiting[0]._unread.endswith(b"one two"))
        world.database_may_go.set()
        await world.waits(0)
        await wire.send(b" three")
        assert await said(wire) == b"kept one two three"


async def test_who_is_inside_is_read_on_however_crowded_it_is(world: World) -> None:
    async with AsyncExitStack() as clients:
        slow = await send(world, clients, post(b"slow")[:-2])
        await until(lambda: world.counts == (1, 0, 0, 0))
        await fill(world, clients)
        await slow.send(b"ow")
        await until(lambda: world.came[INSIDE:] == [b"slow"])
        assert world.waiting == []
        world.database_may_go.set()
        assert await said(slow) == b"kept slow"


async def test_whoever_sends_more_than_is_kept_is_read_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "UNREAD_BYTES_MAX", 1_000)
    long = b"long" * 1_000
    async with AsyncExitStack() as clients:
        await fill(world, clients)
        at_once = await send(world, clients, post(long))
        await until(lambda: world.came[INSIDE:] == [long])
        in_pieces = await send(world, clients, post(long)[:500])
        await world.waits(1)
        await in_pieces.send(post(long)[500:])
        await until(lambda: world.came[INSIDE:] == [long, long])
        # They are inside, and wait no longer.
        assert world.counts == (INSIDE + 2, 0, 0, GROUP + 2)
        world.database_may_go.set()
        assert [await said(wire) for wire in (at_once, in_pieces)] == [b"kept " + long] * 2


# Gone.


async def test_who_hangs_up_while_waiting_is_in_nobodys_way(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as clients:
        await fill(world, clients)
        # There is room for two more.
        monkeypatch.setattr(places, "IN_FLIGHT_MAX", INSIDE + 2)
        async with open_wire(world.url) as leaving:
            await leaving.send(post(b"leaving"))
            await world.waits(1)
            behind = await send(world, clients, post(b"behind"))
            await world.waits(2)
            refused = await send(world, clients, post(b"refused"))
            assert (await refused.answer()).status_code == 503
        await world.waits(1)
        instead = await send(world, clients, post(b"instead"))
        await world.waits(2)
        world.database_may_go.set()
        assert [await said(behind), await said(instead)] == [b"kept behind", b"kept instead"]
        assert world.came[INSIDE:] == [b"behind", b"instead"]
    await until(lambda: world.counts == (0, 0, 0, 0))


# Nobody waits without need.


async def test_our_health_is_told_while_others_wait(world: World) -> None:
    async with AsyncExitStack() as clients:
        await fill(world, clients)
        wire = await send(world, clients, post(b"waiting"))
        await world.waits(1)
        asking = await send(world, clients, b"GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n")
        assert await said(asking) == b"well"
        assert len(world.waiting) == 1
        world.database_may_go.set()
        assert await said(wire) == b"kept waiting"


async def test_those_who_wait_for_a_rail_keep_nobody_out(world: World) -> None:
    async with AsyncExitStack() as clients:
        at_rail: list[Wire] = []
        while len(at_rail) < 3 * INSIDE:
            at_rail.append(await send(world, clients, post(b"rail", b"/rail")))
            await until(lambda: len(world.came) == len(at_rail))
        wire = await send(world, clients, post(b"beside"))
        world.database_may_go.set()
        assert await said(wire) == b"kept beside"


async def test_a_crowd_that_goes_on_to_a_rail_lets_in_who_waited_for_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody leaves, but nobody wants the database either."""
    monkeypatch.setattr(places, "LOOK_EVERY_S", 0.01)
    world.database_may_go.set()
    async with AsyncExitStack() as clients:
        wires = [await clients.enter_async_context(open_wire(world.url)) for _ in range(4 * INSIDE)]
        for number, wire in enumerate(wires):  # All in one turn of the loop: none has begun when the next is read.
            wire._writer.write(post(b"rail-%d" % number, b"/rail"))
        await until(lambda: len(world.came) == len(wires))
        world.rail_may_go.set()
        assert [await said(wire) for wire in wires] == [b"asked rail-%d" % number for number in range(len(wires))]


async def test_who_comes_when_the_crowd_has_gone_enters_behind_those_who_waited(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as clients:
        await fill(world, clients)
        await send(world, clients, post(b"before"))
        await world.waits(1)
        monkeypatch.setattr(places, "TOGETHER_MAX", 100)
        await send(world, clients, post(b"after"))
        await until(lambda: world.came[INSIDE:] == [b"before", b"after"])


async def test_who_waits_for_a_database_that_is_stuck_is_told_so_and_may_come_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(places, "UNREAD_S", 0.05)
    async with AsyncExitStack() as clients:
        await fill(world, clients)
        whole = await send(world, clients, post(b"whole"))
        begun = await send(world, clients, post(b"begun")[:-1])
        for wire in (whole, begun):
            refused = await wire.answer()
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert await begun.is_cut()  # Its last byte would be taken for another request.
        assert len(world.came) == INSIDE
        world.database_may_go.set()
        await until(lambda: world.counts == (0, 0, 0, 0))
        await whole.send(post(b"again"))
        assert await said(whole) == b"kept again"


# Deadlines.


async def test_no_deadline_runs_while_it_is_we_who_make_them_wait(world: World) -> None:
    async with AsyncExitStack() as clients:
        used, *_ = await fill(world, clients)
        world.database_may_go.set()
        await said(used)
        await until(lambda: world.counts == (0, 0, 0, 0))
        world.database_may_go.clear()
        world.came.clear()
        await fill(world, clients)
        await send(world, clients, post(b"on a new connection"))
        await world.waits(1)
        await used.send(post(b"on one that was kept alive"))
        await world.waits(2)
        for connection in world.waiting:
            assert (connection._deadline, connection.timeout_keep_alive_task) == (None, None)


async def test_a_head_that_has_only_begun_has_a_deadline_when_it_is_let_in(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEADER_TIMEOUT_S", 0.1)
    async with AsyncExitStack() as clients:
        await fill(world, clients)
        wire = await send(world, clients, b"POST /keep HTTP/1.1\r\nhost:")
        await world.waits(1)
        world.database_may_go.set()
        assert await wire.is_cut()


# The end.


async def test_a_server_that_stops_answers_those_who_wait() -> None:
    names = [b"waiting-%d" % number for number in range(3)]
    async with AsyncExitStack() as clients:
        async with serving_front_door_that_is_let_go_when_nobody_waits() as world:
            await fill(world, clients)
            wires = [await send(world, clients, post(name)) for name in names]
            await world.waits(len(wires))
        answers = [await wire.answer() for wire in wires]
        assert [answer.content for answer in answers] == [b"kept " + name for name in names]
        assert {answer.headers["connection"] for answer in answers} == {"close"}
        assert all([await wire.is_closed() for wire in wires])


@asynccontextmanager
async def serving_front_door_that_is_let_go_when_nobody_waits() -> AsyncIterator[World]:
    """The stop must let them in by itself: nobody inside leaves before."""
    world = World()
    async with asyncio.TaskGroup() as group, serving_front_door(lambda _: world.door) as (world.url, _):
        try:
            yield world
        finally:
            group.create_task(_let_go_when_nobody_waits(world))


async def _let_go_when_nobody_waits(world: World) -> None:
    try:
        await world.waits(0)
    finally:
        world.database_may_go.set()


# The service itself.


async def test_payments_that_wait_before_the_door_are_all_made(
    database_url: str, db: Database, admin: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(database_url=database_url, encryption_keys=(ENCRYPTION_KEY,))
    names = {f"waiting-{number}" for number in range(24)}
    limits = httpx.Limits(max_connections=None)
    async with (
        serving(settings) as (url, door),
        httpx.AsyncClient(base_url=url, limits=limits, timeout=PATIENCE_S) as client,
    ):
        shop = await make_shop(db, client, rate_per_second=1_000, rate_burst=1_000)
        assert (await shop.create(order(reference="first"))).status_code == 201
        async with admin.transaction():
            await admin.execute("LOCK TABLE payment IN SHARE ROW EXCLUSIVE MODE")
            made = [asyncio.create_task(shop.create(order(reference=name))) for name in names]
            # All have come, and a group waits for the lock: the others stay out.
            room = door.places
            await until(lambda: room._in_flight + len(room._unread) == len(names) and room._beginning == 0)
            assert room._unread
        answers = await asyncio.gather(*made)
    assert {answer.status_code for answer in answers} == {201}
    assert {row["reference"] for row in await admin.fetch("SELECT reference FROM payment")} == {"first", *names}
    assert (room._in_flight, room._beginning, len(room._unread)) == (0, 0, 0)
