"""`tidegate refund create`: an amount is written as people write one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from build import Shop
from checkout.paying import card
from cli.operating import Operator
from conftest import MakeCheckout


@pytest.fixture
def operator(database_url: str, tmp_path: Path) -> Operator:
    return Operator(database_url, tmp_path)


@pytest.mark.parametrize(
    "typed", ["1e1", "1E1", "1_0", "\u0661\u0660", "+5", " 5 ", "NaN", "Infinity", "1,0", "0x5", ""]
)
async def test_an_amount_that_nobody_writes_is_refused(
    new_checkout: MakeCheckout, shop: Shop, admin: Any, operator: Operator, typed: str
) -> None:
    paid = await new_checkout(shop)
    assert (await paid.charge(card())).status_code == 200
    said = await operator.refused("refund", "create", shop.business_id, paid.reference, "--amount", typed)
    assert "--amount must be a number such as 100 or 100.50" in said
    assert await admin.fetchval("SELECT count(*) FROM refund") == 0
