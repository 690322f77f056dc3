"""Which pages may show the checkout in a frame, and what a form inside one needs."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from typing import Any

import httpx
import pytest

from build import Checkout
from checkout.paying import card
from conftest import MakeCheckout
from tidegate.core.errors import NotFound
from tidegate.core.ids import Mode
from tidegate.embed.frame import Frame, parse_origin

ID, OTHER_ID = "A" * 22, "B" * 22
SHOP = "https://shop.example.com"
SCRIPT_BYTES_MAX = 5_000


def address(checkout: Checkout, origin: str = SHOP, frame_id: str = ID) -> str:
    return f"/embed/{Frame(frame_id, 'en', origin).text}/pay/{checkout.pay_code}"


@pytest.fixture
async def checkout(new_checkout: MakeCheckout) -> Checkout:
    return await new_checkout(settings={"checkout_origins": [SHOP]})


async def test_a_listed_origin_alone_may_frame_it(checkout: Checkout, payer_client: httpx.AsyncClient) -> None:
    answer = await payer_client.get(address(checkout))
    assert answer.status_code == 200
    assert f"frame-ancestors {SHOP};" in answer.headers["content-security-policy"]
    assert "x-frame-options" not in answer.headers
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("origin", ["https://evil.example", "http://shop.example.com", f"{SHOP}.evil.example"])
async def test_any_other_origin_gets_no_frame(checkout: Checkout, payer_client: httpx.AsyncClient, origin: str) -> None:
    answer = await payer_client.get(address(checkout, origin))
    assert answer.status_code == 403
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"


async def test_the_page_itself_is_never_framed(checkout: Checkout, payer_client: httpx.AsyncClient) -> None:
    answer = await payer_client.get(f"/pay/{checkout.pay_code}")
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "text",
    ["x", f"{ID}.en.!!", f"{ID}.en.", f"{ID}.en.{urlsafe_b64encode(b'https://a.b/;x').decode()}", f"{ID}.EN.aHR0"],
)
async def test_a_malformed_frame_is_not_found(checkout: Checkout, payer_client: httpx.AsyncClient, text: str) -> None:
    with pytest.raises(NotFound):
        Frame.parse(text)
    assert (await payer_client.get(f"/embed/{text}/pay/{checkout.pay_code}")).status_code == 404


async def post(client: httpx.AsyncClient, checkout: Checkout, token: str, frame_id: str = ID, **headers: str) -> Any:
    form = {f"{name}": str(value) for name, value in card()["card"].items() if name != "expiryMonth"}
    fields = {"type": "card", "number": form["number"], "expiry": "12 / 40", "cvv": "123", "token": token, "seen": "1"}
    return await client.post(f"{address(checkout, frame_id=frame_id)}/charge", data=fields, headers=headers)


async def test_a_form_in_a_frame_needs_its_token_and_its_origin(
    checkout: Checkout, payer_client: httpx.AsyncClient
) -> None:
    page = await payer_client.get(address(checkout))
    found = re.search(r'name="token" value="([^"]+)"', page.text)
    assert found is not None
    own = {"sec-fetch-site": "same-origin", "origin": str(payer_client.base_url).rstrip("/")}
    assert (await post(payer_client, checkout, found[1])).status_code == 403
    for site in ("cross-site", "same-site", "none"):
        assert (await post(payer_client, checkout, found[1], **{"sec-fetch-site": site})).status_code == 403
    assert (await post(payer_client, checkout, found[1], OTHER_ID, **own)).status_code == 403
    assert (await post(payer_client, checkout, "A" * 64, **own)).status_code == 403
    answer = await post(payer_client, checkout, found[1], **own)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith(address(checkout))
    assert "set-cookie" not in answer.headers


async def test_the_script_is_small_and_for_everybody(client: httpx.AsyncClient) -> None:
    answer = await client.get("/checkout/v1.js")
    assert len(answer.content) <= SCRIPT_BYTES_MAX
    assert answer.headers["content-type"].startswith("text/javascript")
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    assert answer.headers["access-control-allow-origin"] == "*"


def test_an_origin_is_a_scheme_and_a_host() -> None:
    assert parse_origin("https://Shop.example.com/", Mode.LIVE) == SHOP
    assert parse_origin("http://localhost:3000", Mode.SANDBOX) == "http://localhost:3000"
    for wrong in ("shop.example.com", "https://shop.example.com/basket", "https://*.example.com", "https://a b"):
        with pytest.raises(ValueError, match="origin"):
            parse_origin(wrong, Mode.LIVE)
    with pytest.raises(ValueError, match="https"):
        parse_origin("http://shop.example.com", Mode.LIVE)
