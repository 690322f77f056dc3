"""What the payer's view says may be chosen: banks for USSD, operators for mobile money."""

from __future__ import annotations

from conftest import MakeCheckout


async def test_the_view_lists_every_bank_that_ussd_takes(new_checkout: MakeCheckout) -> None:
    checkout = await new_checkout(currency="NGN")
    view = await checkout.view()
    assert {"code": "058", "name": "Guaranty Trust Bank", "dialPrefix": "*737"} in view["banks"]
    assert view["operators"] == []
    for bank in view["banks"]:
        answer = (await checkout.charge({"type": "payAttitude", "bank": bank["code"]})).json()
        if not answer["status"]:  # The attempts are used up, and no bank was refused for its code.
            assert answer["errorType"] != "VALIDATION_FAILED", answer
            break
        assert answer["data"]["action"]["code"].startswith(bank["dialPrefix"] + "*")


async def test_the_view_lists_the_operators_of_the_currency(new_checkout: MakeCheckout) -> None:
    view = await (await new_checkout(currency="KES")).view()
    assert {"id": "mpesa", "name": "M-PESA"} in view["operators"]
    assert view["banks"] == []


async def test_nothing_is_listed_for_a_method_that_is_not_offered(new_checkout: MakeCheckout) -> None:
    view = await (await new_checkout(currency="NGN", paymentMethods=["card"])).view()
    assert (view["banks"], view["operators"]) == ([], [])
