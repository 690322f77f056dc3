"""The collection for API tools: every operation, and requests that work when the keys are filled in."""

from __future__ import annotations

from typing import Any

import httpx

from build import Shop
from tidegate.app import document_of, operations_of
from tidegate.docs import postman
from tidegate.runtime import Runtime
from tidegate.settings import Settings

DOCUMENT = document_of(operations_of(Runtime.of(Settings())), "http://localhost:8080")


def requests(collection: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {item["name"]: item["request"] for folder in collection["item"] for item in folder["item"]}


def test_every_operation_is_in_it() -> None:
    found = requests(postman.collection(DOCUMENT))
    summaries = [one["summary"] for methods in DOCUMENT["paths"].values() for one in methods.values()]
    assert sorted(found) == sorted(summaries)


async def test_its_requests_work_with_the_keys_filled_in(shop: Shop, client: httpx.AsyncClient, base_url: str) -> None:
    answer = await client.get(postman.PATH)
    assert answer.headers["content-type"] == "application/json"
    values = {variable["key"]: variable["value"] for variable in answer.json()["variable"]}
    assert values["baseUrl"] == base_url
    assert "sk_" not in answer.text
    values |= {"secretKey": shop.secret_key, "publicKey": shop.public_key, "businessId": shop.business_id}
    values["$guid"] = "4e7b2f1c"
    for name in ("Create a payment", "Verify a payment", "List refunds", "List inflows", "Get your business"):
        request = requests(answer.json())[name]
        sent = await client.request(
            request["method"],
            filled(request["url"]["raw"], values, request["url"].get("variable", ())),
            headers={header["key"]: filled(header["value"], values) for header in request["header"]},
            content=request.get("body", {}).get("raw"),
        )
        assert sent.is_success, (name, sent.text)


def filled(text: str, values: dict[str, str], inner: Any = ()) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{{{name}}}}}", value)
    for one in inner:
        text = text.replace(f":{one['key']}", one["value"])
    return text
