"""Banks whose customers pay by dialling a code."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.money import Currency


@dataclass(frozen=True, slots=True)
class UssdBank:
    """`code` is the central bank's; `ussd` is what a payment code of the bank begins with."""

    code: str
    name: str
    ussd: str

    def dial_code(self, number: str) -> str:
        return f"*{self.ussd}*000*{number}#"


# In the order of the alphabet, as a payer looks for them.
USSD_BANKS: dict[Currency, tuple[UssdBank, ...]] = {
    Currency.NGN: (
        UssdBank("044", "Access Bank", "901"),
        UssdBank("050", "Ecobank Nigeria", "326"),
        UssdBank("070", "Fidelity Bank", "770"),
        UssdBank("011", "First Bank of Nigeria", "894"),
        UssdBank("214", "First City Monument Bank", "329"),
        UssdBank("058", "Guaranty Trust Bank", "737"),
        UssdBank("082", "Keystone Bank", "7111"),
        UssdBank("076", "Polaris Bank", "833"),
        UssdBank("221", "Stanbic IBTC Bank", "909"),
        UssdBank("232", "Sterling Bank", "822"),
        UssdBank("032", "Union Bank of Nigeria", "826"),
        UssdBank("033", "United Bank for Africa", "919"),
        UssdBank("215", "Unity Bank", "7799"),
        UssdBank("035", "Wema Bank", "945"),
        UssdBank("057", "Zenith Bank", "966"),
    ),
}


def find(code: str, currency: Currency) -> UssdBank | None:
    return next((bank for bank in USSD_BANKS.get(currency, ()) if bank.code == code), None)
