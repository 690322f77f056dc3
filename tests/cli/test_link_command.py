"""`tidegate link`, by the rules of the API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from build import Shop
from cli.operating import Operator

TICKET = ("Workshop ticket", "--currency", "NGN", "--amount", "2500")


@pytest.fixture
def operator(database_url: str, tmp_path: Path) -> Operator:
    return Operator(database_url, tmp_path)


async def test_a_link_has_the_methods_and_fields_that_were_asked_for(operator: Operator, shop: Shop) -> None:
    chosen = ("--method", "card", "--method", "bank_transfer", "--phone", "optional", "--note", "required")
    link = await operator.json("link", "create", shop.business_id, *TICKET, *chosen, "--note-label", "T-shirt size")
    found = [link[name] for name in ("paymentMethods", "askPhoneNumber", "askNote", "noteLabel")]
    assert found == [["card", "bank_transfer"], "optional", "required", "T-shirt size"]
    plain = await operator.json("link", "create", shop.business_id, *TICKET)
    assert [plain[name] for name in ("paymentMethods", "askPhoneNumber", "askNote")] == [None, None, None]
    assert "0 / 0" in await operator.said("link", "list", shop.business_id)
    assert "/poster.pdf" in await operator.said("link", "create", shop.business_id, *TICKET)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--method", "cheque"), "--method must be one of"),
        (("--method", "card", "--method", "CARD"), "--method is there twice"),
        (("--method", "mobile_money"), "--method is not offered in NGN"),
        (("--note-label", "Size"), "--note-label needs --note"),
    ],
)
async def test_a_wrong_option_is_named(
    operator: Operator, shop: Shop, admin: Any, options: tuple[str, ...], says: str
) -> None:
    assert says in await operator.refused("link", "create", shop.business_id, *TICKET, *options)
    assert await admin.fetchval("SELECT count(*) FROM payment_link") == 0
