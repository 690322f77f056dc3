"""How often the page of a payment link was opened."""

from __future__ import annotations

import asyncio

import httpx

from build import Shop
from payment_link.link_calls import call, get, make, path_in
from tidegate.infra.db import Database
from tidegate.payment_link.openings import LINKS_MAX, LinkOpenings
from waiting import until

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
NOT_OPENED = {
    "a program": {"accept": "*/*"},
    "fetched ahead": {**BROWSER, "sec-purpose": "prefetch;prerender"},
    "fetched ahead, as older browsers say it": {**BROWSER, "purpose": "prefetch"},
    "a preview": {**BROWSER, "purpose": "preview"},
}


async def test_a_browser_that_opens_the_page_is_counted_each_time(shop: Shop, payer_client: httpx.AsyncClient) -> None:
    link, other = await make(shop), await make(shop)
    await call(shop, "POST", f"/{other['id']}/end")
    for _ in range(3):
        await payer_client.get(path_in(link), headers=BROWSER)
    await payer_client.get(path_in(other), headers=BROWSER)

    async def counted() -> bool:
        return [(await get(shop, one))["timesOpened"] for one in (link, other)] == [3, 1]

    await until(counted)


async def test_what_opens_no_page_is_not_counted(shop: Shop, payer_client: httpx.AsyncClient) -> None:
    link, opened = await make(shop), await make(shop)
    assert (await payer_client.head(path_in(link), headers=BROWSER)).status_code == 200
    for headers in NOT_OPENED.values():
        assert (await payer_client.get(path_in(link), headers=headers)).status_code == 200
    for file in ("qr.svg", "qr.png", "poster.pdf"):
        assert (await payer_client.get(f"{path_in(link)}/{file}", headers=BROWSER)).status_code == 200
    # Counted after all of these, and written with them.
    await payer_client.get(path_in(opened), headers=BROWSER)

    async def counted() -> bool:
        return bool((await get(shop, opened))["timesOpened"] == 1)

    await until(counted)
    assert (await get(shop, link))["timesOpened"] == 0


async def test_openings_of_several_processes_add_up(shop: Shop, db: Database) -> None:
    links = [await make(shop) for _ in range(3)]
    processes = [LinkOpenings(db) for _ in range(4)]
    for process in processes:
        for link in links:
            process.note(shop.business_id, link["id"])
            process.note(shop.business_id, link["id"])
    await asyncio.gather(*(process.write() for process in processes))
    assert [(await get(shop, link))["timesOpened"] for link in links] == [8, 8, 8]
    await processes[0].write()
    assert (await get(shop, links[0]))["timesOpened"] == 8


async def test_no_more_links_are_counted_than_memory_is_for(shop: Shop, db: Database) -> None:
    openings, link = LinkOpenings(db), await make(shop)
    for number in range(LINKS_MAX):
        openings.note(shop.business_id, f"pl_{number}")
    openings.note(shop.business_id, link["id"])
    await openings.write()
    assert (await get(shop, link))["timesOpened"] == 0
    openings.note(shop.business_id, link["id"])
    await openings.write()
    assert (await get(shop, link))["timesOpened"] == 1
