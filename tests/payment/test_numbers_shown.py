"""A merchant's numbers do not tell how busy other businesses are."""

from __future__ import annotations

import base64
import itertools
import json
from datetime import UTC, datetime, timedelta
from typing import Any

from conftest import MakeCheckout
from tidegate.runtime import Runtime

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
_STORED_PAYMENT = "SELECT id FROM payment WHERE business_id = $1 AND pay_code = $2"


async def test_verify_and_the_event_show_one_number_that_is_not_the_stored_one(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    checkout = await new_checkout()
    await checkout.transfer(await checkout.account(), "100")
    stored = await admin.fetchval(_STORED_PAYMENT, checkout.shop.business_id, checkout.pay_code)
    payload = await admin.fetchval("SELECT payload FROM event WHERE business_id = $1", checkout.shop.business_id)
    shown = (await checkout.record())["id"]
    assert shown == json.loads(payload)["data"]["id"] == runtime.public_ids.payment.hide(stored)
    assert shown != stored


async def test_a_statement_shows_neither_the_numbers_of_the_ledger_nor_has_them_in_its_cursor(
    new_checkout: MakeCheckout, runtime: Runtime, admin: Any
) -> None:
    checkout = await new_checkout()
    await checkout.transfer(await checkout.account(), "100")
    again = await new_checkout(checkout.shop)
    await again.transfer(await again.account(), "100")
    stored = {row["id"] for row in await admin.fetch("SELECT id FROM journal")}
    headers = {"api-key": checkout.shop.secret_key}
    answer = await checkout.shop.client.get("/wallets/NGN/statement?perPage=1", headers=headers)
    page = answer.json()["data"]
    [line] = page["results"]
    assert runtime.public_ids.statement_line.reveal(line["id"]) in stored
    assert line["id"] not in stored
    assert position_in(page["nextCursor"]) == line["id"]
    file = await checkout.shop.client.get("/wallets/NGN/statement", headers={**headers, "accept": "text/csv"})
    assert f",{line['id']}," in file.text


def position_in(cursor: str) -> int:
    return int.from_bytes(base64.urlsafe_b64decode(cursor + "==")[:8])


async def test_numbers_made_of_time_and_a_serial_do_not_show_the_serial(runtime: Runtime, admin: Any) -> None:
    for function, bits in (("new_collection_id", 12), ("new_webhook_delivery_id", 20)):
        moments = [NOW + timedelta(milliseconds=number) for number in range(50)]
        made = [await admin.fetchval(f"SELECT {function}($1)", moment) for moment in moments]
        low = [number % (1 << bits) for number in made]
        steps = {(after - before) % (1 << bits) for before, after in itertools.pairwise(low)}
        assert len(steps) > 40
        # They are still in the order of time.
        assert made == sorted(made)


async def test_numbers_of_one_millisecond_differ(runtime: Runtime, admin: Any) -> None:
    for function in ("new_collection_id", "new_webhook_delivery_id"):
        rows = await admin.fetch(f"SELECT {function}($1) AS id FROM generate_series(1, 4096)", NOW)
        assert len({row["id"] for row in rows}) == 4096
