"""Banks whose customers can pay by USSD."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.core.money import Currency


@dataclass(frozen=True, slots=True)
class UssdBank:
    """`code` is the central bank's; `ussd` is the prefix of the bank's payment codes."""

    code: str
    name: str
    ussd: str
    # Short name; empty where the full name begins with it.
    short_name: str = ""
    # Other search terms: abbreviations, misspellings, brands, banks it has taken over.
    aliases: tuple[str, ...] = ()

    @property
    def listed_as(self) -> str:
        return f"{self.name} ({self.short_name})" if self.short_name else self.name

    @property
    def searched_as(self) -> tuple[str, ...]:
        """Further search terms. Many payers know their bank by its USSD code."""
        return (*self.aliases, self.ussd)

    def dial_code(self, number: str) -> str:
        return f"*{self.ussd}*000*{number}#"


# In alphabetical order.
USSD_BANKS: dict[Currency, tuple[UssdBank, ...]] = {
    Currency.NGN: (
        UssdBank("044", "Access Bank", "901", aliases=("Diamond Bank", "Intercontinental Bank")),
        UssdBank("050", "Ecobank Nigeria", "326", aliases=("Oceanic Bank",)),
        UssdBank("070", "Fidelity Bank", "770"),
        UssdBank("011", "First Bank of Nigeria", "894", "FirstBank", ("FBN",)),
        UssdBank("214", "First City Monument Bank", "329", "FCMB", ("FinBank",)),
        UssdBank("058", "Guaranty Trust Bank", "737", "GTBank", ("GTB", "GTCO", "Guarantee Trust")),
        UssdBank("082", "Keystone Bank", "7111", aliases=("Bank PHB", "Platinum Habib")),
        UssdBank("076", "Polaris Bank", "833", aliases=("Skye Bank", "Mainstreet Bank")),
        UssdBank("221", "Stanbic IBTC Bank", "909", aliases=("Standard Bank",)),
        UssdBank("232", "Sterling Bank", "822", aliases=("Equitorial Trust", "OneBank")),
        UssdBank("032", "Union Bank of Nigeria", "826", aliases=("UBN",)),
        UssdBank("033", "United Bank for Africa", "919", "UBA", ("Standard Trust Bank",)),
        UssdBank("215", "Unity Bank", "7799"),
        UssdBank("035", "Wema Bank", "945", "ALAT"),
        UssdBank("057", "Zenith Bank", "966"),
    ),
}


def find(code: str, currency: Currency) -> UssdBank | None:
    return next((bank for bank in USSD_BANKS.get(currency, ()) if bank.code == code), None)
