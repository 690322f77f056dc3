"""Creating a payment, when all is well."""

from __future__ import annotations

from build import Shop, order
from tidegate.core import ids


async def test_a_payment_is_created_with_a_link(shop: Shop, base_url: str) -> None:
    answer = await shop.create(order(reference="ORDER-1"))
    assert answer.status_code == 201
    body = answer.json()
    assert body["status"] is True
    data = body["data"]
    assert ids.looks_like_pay_code(data["payCode"])
    assert data == {
        "link": f"{base_url}/pay/{data['payCode']}",
        "payCode": data["payCode"],
        "reference": "ORDER-1",
    }


async def test_the_pay_code_serves_as_reference_when_none_is_given(shop: Shop) -> None:
    data = (await shop.create(order(reference=...))).json()["data"]
    assert data["reference"] == data["payCode"]
    assert (await shop.verify(data["payCode"])).json()["data"]["merchantReference"] == data["payCode"]
