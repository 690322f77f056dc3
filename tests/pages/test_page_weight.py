"""A page comes in one small answer, and its script in another."""

from __future__ import annotations

import re

from pages.kinds import every_kind
from pages.stage import Stage

PAGE_BYTES_MAX = 20 * 1024
SCRIPT_BYTES_MAX = 15 * 1024


async def test_every_page_is_light(stage: Stage) -> None:
    # Its letters take more room than those of the other languages.
    pages = await every_kind(stage, "ar")
    assert {page.headers["content-encoding"] for page in pages.values()} == {"gzip"}
    sizes = {name: int(page.headers["content-length"]) for name, page in pages.items()}
    assert {name: size for name, size in sizes.items() if size > PAGE_BYTES_MAX} == {}
    # The style sheet is in there.
    assert not any("stylesheet" in page.text for page in pages.values())


async def test_the_script_is_light(stage: Stage) -> None:
    checkout = await stage.new_payment()
    client = checkout.shop.client
    addresses = re.findall(r'<script src="([^"]+)"', (await client.get(checkout.link)).text)
    scripts = [await client.get(address) for address in addresses]
    assert [script.headers["content-encoding"] for script in scripts] == ["gzip"] * len(scripts)
    assert 0 < sum(int(script.headers["content-length"]) for script in scripts) <= SCRIPT_BYTES_MAX
