"""What arrived on virtual accounts, on the statement of the wallet it went to."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from inflow import CLOSE, Inflows, credit, reversal_of
from tidegate.audit.model import OPERATOR
from tidegate.collection import review
from tidegate.core.money import Currency
from wallet.merchant import Merchant

StatementLine = tuple[str, str, str, Decimal]


async def lines_of(inflows: Inflows, currency: str) -> list[StatementLine]:
    lines: list[dict[str, Any]] = await Merchant(inflows.runtime.db, inflows.shop).lines(currency, order="asc")
    return [(line["kind"], line["reference"], line["description"], line["amount"]) for line in lines]


async def test_an_inflow_is_named_by_its_reference_and_its_payer(inflows: Inflows) -> None:
    bank_said = credit(await inflows.number())
    inflow = await inflows.notified(bank_said)
    reference, amount = inflow["reference"], inflow["amountReceived"]
    assert await lines_of(inflows, "EUR") == [("inflow_credited", reference, "Bank transfer from Bola Ade", amount)]
    # Its fee stays in the wallet, so that the bank can take it back.
    await inflows.notified(credit(bank_said["accountNumber"]))
    assert (await inflows.notify(reversal_of(bank_said))).status_code == 200
    await inflows.tick()
    assert (await lines_of(inflows, "EUR"))[-1] == (
        "credit_reversed", reference, "Reversal of bank transfer from Bola Ade", -amount
    )  # fmt: skip


async def test_an_inflow_in_another_currency_says_what_arrived(inflows: Inflows) -> None:
    await inflows.set_rate(Currency.EUR, Currency.USD, "1.1")
    inflow = await inflows.notified(credit(await inflows.number(Currency.EUR, Currency.USD), 100_00))
    [line] = await lines_of(inflows, "USD")
    assert line == (
        "inflow_converted", inflow["reference"], "Bank transfer of EUR 100.00 from Bola Ade", inflow["amountReceived"]
    )  # fmt: skip


async def test_an_inflow_that_was_reviewed_says_so(inflows: Inflows) -> None:
    held = await inflows.notified(credit(await inflows.number(), payeeName=CLOSE))
    await review.credit(inflows.runtime.deps, held["reference"], note=None, by=OPERATOR, now=inflows.now)
    [(kind, reference, description, _)] = await lines_of(inflows, "EUR")
    assert (kind, reference) == ("held_settled", held["reference"])
    assert description == "Reviewed bank transfer from Bola Ade"
