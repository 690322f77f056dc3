"""What a merchant is told about its own business."""

from __future__ import annotations

import pytest

from build import Shop
from conftest import MakeShop


async def test_a_business_sees_itself_and_no_secret(new_shop: MakeShop) -> None:
    shop = await new_shop(session_minutes=30, redirect_hosts=["shop.example.com"], accent="#0f7b6c")
    answer = await shop.client.get("/profile/merchants/me", headers={"api-key": shop.secret_key})
    assert answer.status_code == 200, answer.text
    envelope = answer.json()
    assert envelope["success"] is True
    record = envelope["data"]
    assert (record["id"], record["name"], record["email"]) == (shop.business_id, "Test Shop", "shop@example.com")
    assert (record["status"], record["mode"], record["sessionMinutes"]) == ("active", "sandbox", 30)
    assert (record["redirectHosts"], record["accentColour"]) == (["shop.example.com"], "#0f7b6c")
    assert record["support"] == {"email": "shop@example.com", "phone": None, "url": None}
    assert "sk_test_" not in answer.text
    assert "whsec_" not in answer.text


async def test_the_id_is_where_clients_of_other_providers_look_for_it(shop: Shop) -> None:
    headers = {"api-key": shop.secret_key}
    record = (await shop.client.get("/profile/merchants/me", headers=headers)).json()["data"]
    assert record["business"] == {"id": shop.business_id, "name": "Test Shop"}
    older = (await shop.client.get("/profile/business/me", headers=headers)).json()
    assert older["data"] == {"_id": shop.business_id, **record}


@pytest.mark.parametrize("key", ["", "sk_test_wrong"])
@pytest.mark.parametrize("path", ["/profile/merchants/me", "/profile/business/me"])
async def test_without_a_valid_key_nothing_is_shown(shop: Shop, key: str, path: str) -> None:
    answer = await shop.client.get(path, headers={"api-key": key})
    assert (answer.status_code, answer.json()["errorType"]) == (401, "UNAUTHENTICATED")


@pytest.mark.parametrize("path", ["/profile/merchants/me/", "/wallets/"])
async def test_a_slash_at_the_end_of_an_address_is_no_other_address(shop: Shop, path: str) -> None:
    answer = await shop.client.get(path, headers={"api-key": shop.secret_key})
    assert (answer.status_code, answer.history) == (200, [])


async def test_a_payment_is_created_and_verified_at_addresses_with_a_slash_at_the_end(shop: Shop) -> None:
    body = {"amount": 100, "currency": "NGN", "reference": "SLASH-1", "customer": {"name": "A", "email": "a@b.co"}}
    created = await shop.client.post("/checkout/payments/", json=body, headers=shop.create_headers)
    assert created.status_code == 201, created.text
    assert (await shop.verify("SLASH-1/")).json()["data"]["merchantReference"] == "SLASH-1"
    page = await shop.client.get(f"/pay/{created.json()['data']['payCode']}/")
    assert page.status_code == 200
