"""How the clients of `make chaos` and `make failover` ask until an answer is definite."""

from __future__ import annotations

import random

import httpx
from chaos.client import Caller
from chaos.model import Model


async def test_a_request_whose_first_is_still_running_is_asked_again() -> None:
    """It may yet succeed: taken for a refusal, its effect would be one that nobody asked for."""
    answers = [httpx.Response(409, headers={"retry-after": "1"}), httpx.Response(503), httpx.Response(201)]
    async with httpx.AsyncClient(
        base_url="http://service", transport=httpx.MockTransport(lambda _: answers.pop(0))
    ) as http:
        by = Caller(http, Model(), random.Random(1))
        assert (await by.definite("POST", "/collections/refund")).status_code == 201
    assert by.model.unknown == {"answered 409": 1, "answered 503": 1}


async def test_a_refusal_is_definite() -> None:
    async with httpx.AsyncClient(
        base_url="http://service", transport=httpx.MockTransport(lambda _: httpx.Response(409))
    ) as http:
        assert (await Caller(http, Model(), random.Random(1)).definite("POST", "/")).status_code == 409
