"""Schemathesis against the generated OpenAPI: no server error, no accepted invalid input, no answer off the schema."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import checks

from build import Shop, make_shop
from process import api
from tidegate.app import operations_of
from tidegate.infra.db import Database
from tidegate.infra.http import openapi
from tidegate.infra.http.operation import encode
from tidegate.runtime import Runtime
from tidegate.settings import Settings

EXAMPLES = 60
_operations = operations_of(Runtime.of(Settings()))
_document = openapi.document(_operations, title="Tidegate", server_url="http://localhost")
# As it goes out: its examples have exact decimals, which others do not write.
schema = schemathesis.openapi.from_dict(json.loads(encode(_document)))


@pytest.fixture(scope="module")
async def target(make_database: Callable[[str], Awaitable[str]]) -> AsyncIterator[tuple[str, dict[str, str]]]:
    """A process of its own, since schemathesis blocks the event loop; and the headers of a business."""
    url = await make_database("tidegate_test_fuzz")
    database = Database(url)
    await database.open()
    limits = {"rate_per_second": 100_000, "rate_burst": 100_000}
    shop: Shop = await make_shop(database, client=None, **limits)  # type: ignore[arg-type]
    await database.close()
    with api(url) as (base_url, _):
        yield base_url, {**shop.create_headers, **shop.verify_headers}


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_api_keeps_to_its_schema(case: Any, target: tuple[str, dict[str, str]]) -> None:
    base_url, headers = target
    # Rules between fields (the currency's methods, card numbers) refuse what the schema alone allows.
    case.call_and_validate(base_url=base_url, headers=headers, excluded_checks=[checks.positive_data_acceptance])


def test_every_operation_is_fuzzed() -> None:
    fuzzed = {result.ok().label for result in schema.get_all_operations()}  # type: ignore[union-attr]
    assert fuzzed == {f"{operation.method} {operation.path}" for operation in _operations}
