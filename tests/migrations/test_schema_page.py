"""docs/schema.md shows the schema as it is."""

from __future__ import annotations

from typing import Any

from migrations.schema_page import PAGE, page


async def test_the_page_shows_the_schema_as_it_is(admin: Any) -> None:
    assert PAGE.read_text() == await page(admin), "the schema has changed: run `make schema`"
