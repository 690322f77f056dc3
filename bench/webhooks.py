"""What the lines about webhooks share: endpoints at a receiver of the benchmark, and events that wait for them."""

from __future__ import annotations

import json
import time
from functools import cache
from typing import Any

from bench import webhook_receiver as receiver
from bench.line import BenchFailed
from bench.line_create import ORDER, PATH
from bench.process import HOST, Server
from bench.stage import Shop, Stage
from tidegate.webhook.model import EVENT_CHANNEL, IN_FLIGHT_MAX

CARD = {"type": "card", "card": {"number": "5319317801366660", "expiryMonth": 12, "expiryYear": 2040, "cvv": "123"}}
# More than a receiver can take, so that no allowance is what is measured.
RATE = 100_000
WITHIN_S = 60.0
LOOK_EVERY_S = 0.01
# Few would be held up by how many each of them may have under way.
PER_SHOP = 3


class Webhooks:
    """Some endpoints for each shop, of which only the first hears of events by itself; and one that hangs, of a shop
    of its own.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.receiver: Server = stage.start_server(["bench.webhook_receiver"], ready_path=receiver.READY, env={})
        self._runs = 0
        *self.shops, poisoned = stage.shops
        self.payload = self._learn()
        self.endpoints = [self._listen(shop, receiver.HOOK) for shop in self.shops for _ in range(PER_SHOP)]
        self.poisoned = self._listen(poisoned, receiver.HANG)
        # The others get what is put before them, so that an event of a shop is one webhook.
        others = [endpoint for number, endpoint in enumerate(self.endpoints) if number % PER_SHOP]
        stage.execute(f"UPDATE webhook_endpoint SET events = '{{}}' WHERE id IN ({_quoted(others)})")

    @staticmethod
    @cache
    def of(stage: Stage) -> Webhooks:
        return Webhooks(stage)

    def url(self, path: str) -> str:
        return f"http://{HOST}:{self.receiver.port}{path}"

    def ask(self, path: str) -> Any:
        return json.loads(self.receiver.get(path)[1])

    def prepare(self, endpoints: list[str], count: int) -> None:
        """Deliveries that are due, in turn for each endpoint, though nobody knows yet: `release` lets them go."""
        self._runs += 1
        self._stage.execute(
            "CREATE TEMPORARY TABLE wanted AS"
            f" SELECT endpoint.business_id, endpoint.id AS endpoint_id, number, 'evt_' || left(md5('{self._runs} '"
            f" || number), 22) AS event_id FROM generate_series(0, {count - 1}) AS number JOIN webhook_endpoint"
            f" AS endpoint ON endpoint.id = (ARRAY[{_quoted(endpoints)}])[number % {len(endpoints)} + 1];"
            "INSERT INTO event (business_id, id, type, cause, payload, reference, created_at, is_fanned_out)"
            " SELECT wanted.business_id, event_id, type, event_id, payload, 'bench-' || number, now(), true"
            " FROM wanted, bench_event;"
            "INSERT INTO webhook_delivery (business_id, id, endpoint_id, event_id, event_type, reference, lane, due_at,"
            " created_at) SELECT wanted.business_id, new_webhook_delivery_id(now()), endpoint_id, event_id, type,"
            " 'bench-' || number, 0, now(), now() FROM wanted, bench_event;"
        )
        self._stage.execute("VACUUM ANALYZE event, webhook_delivery, webhook_attempt, endpoint_state, webhook_endpoint")

    def release(self, endpoints: list[str]) -> None:
        self._stage.execute(
            f"UPDATE endpoint_state SET look_at = now() WHERE endpoint_id IN ({_quoted(endpoints)}); "
            f"NOTIFY {EVENT_CHANNEL}"
        )

    def forget_what_waits(self) -> None:
        self._stage.execute(
            "UPDATE endpoint_state SET look_at = NULL, failures = 0, failing_since = NULL, openings = 0,"
            " open_until = NULL; DELETE FROM webhook_delivery AS delivery WHERE due_at IS NOT NULL AND NOT EXISTS"
            " (SELECT FROM webhook_attempt AS attempt WHERE attempt.business_id = delivery.business_id"
            " AND attempt.delivery_id = delivery.id);"
            " UPDATE webhook_delivery SET status = 'cancelled', due_at = NULL WHERE due_at IS NOT NULL"
        )

    def warm(self) -> None:
        """Until the worker is there and its connections are open."""
        count = len(self.endpoints) * 2 * IN_FLIGHT_MAX
        self.prepare(self.endpoints, count)
        self.ask(receiver.FORGET)
        self.release(self.endpoints)
        self.await_count(count)
        self.ask(receiver.FORGET)

    def await_count(self, count: int) -> None:
        self._await("count", count)

    def await_hanging(self, count: int) -> None:
        self._await("hanging", count)

    def _await(self, what: str, count: int) -> None:
        ends_at = time.monotonic() + WITHIN_S
        while (seen := self.ask(receiver.COUNT)[what]) < count:
            if time.monotonic() > ends_at:
                raise BenchFailed(f"of {count} webhooks, the receiver had {seen} after {WITHIN_S:.0f} s")
            time.sleep(LOOK_EVERY_S)

    def _learn(self) -> bytes:
        """A payload as the API writes it, and a pattern for all the others."""
        shop = self.shops[0]
        code = self._post(PATH, {**ORDER, "reference": "webhook-pattern"}, shop.create_headers)["payCode"]
        self._post(f"{PATH}/{code}/charge", CARD, {})
        self._stage.execute("CREATE TABLE bench_event AS SELECT * FROM event WHERE reference = 'webhook-pattern'")
        return bytes(self._stage.fetchrow("SELECT payload FROM bench_event")["payload"])

    def _listen(self, shop: Shop, path: str) -> str:
        made = self._post("/webhooks/endpoints", {"url": self.url(path)}, {"api-key": shop.secret_key})
        self._stage.execute(f"UPDATE webhook_endpoint SET rate_per_second = {RATE} WHERE id = '{made['id']}'")
        return str(made["id"])

    def _post(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> Any:
        sent = {**headers, "content-type": "application/json"}
        status, answer = self._stage.api.ask("POST", path, headers=sent, body=json.dumps(body).encode())
        if status not in (200, 201):
            raise BenchFailed(f"the API refused {path}: {status} {answer.decode()}")
        return json.loads(answer)["data"]


def _quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
