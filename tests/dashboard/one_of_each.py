"""A business with one of each thing that has a page of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping

from build import Checkout
from dashboard.people import SignedInPerson
from inflow import Inflows, credit


async def make_one_of_each(owner: SignedInPerson, paid: Checkout, inflows: Inflows) -> dict[str, str]:
    """By the name that the paths of pages have for it. `paid` is a payment by card."""
    admin = inflows.admin
    at = f"/payments/{paid.pay_code}"
    refund = await owner.send(f"{at}/refund", at=at, what="part", amount="1")
    link = await owner.make_link()
    await owner.send("/webhooks/endpoints", at="/webhooks", url="https://a.example/")
    endpoint = await admin.fetchval("SELECT id FROM webhook_endpoint")
    tested = await owner.send(f"/webhooks/endpoints/{endpoint}/test", at="/webhooks")
    arrived = await inflows.notified(credit(await inflows.number()))
    return {
        "endpoint": endpoint,
        "refund": refund.headers["location"].rpartition("/")[2],
        "link": link.headers["location"].rpartition("/")[2],
        "delivery": tested.headers["location"].rpartition("/")[2],
        "account": await admin.fetchval("SELECT id FROM virtual_account"),
        "inflow": arrived["reference"],
        "payment": paid.pay_code,
        "currency": "NGN",
        "figure": "locked",
        "journal": str(await admin.fetchval("SELECT max(id) FROM journal")),
    }


def path_of(row_path: str, known: Mapping[str, str]) -> str:
    """What is not known is `x`."""
    return re.sub(r"\{(\w+)\}", lambda found: known.get(found[1], "x"), row_path)
