"""Mobile money: a row for each currency that offers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tidegate.core.money import Currency

# The sandbox decides by the last four digits of a number.
TEST_SUFFIXES = ("0000", "0001", "0002", "0003", "0004", "0005")


@dataclass(frozen=True, slots=True)
class Operator:
    """`carriers` are its names in the number tables, in lower case, past ones included."""

    id: str
    name: str
    carriers: tuple[str, ...]


@dataclass(frozen=True)
class MobileMoney:
    calling_code: int
    # As in "a Kenyan number".
    adjective: str
    example: str
    # National, without the last four digits: test numbers are valid numbers of the country.
    test_stem: str
    # The most used first.
    operators: tuple[Operator, ...]
    # The prefixes of national numbers that each carrier was given. These are entries of `phonenumbers.carrierdata`,
    # whose tables of all countries take 10 MB of memory; a test compares the two.
    given: Mapping[str, str]

    @cached_property
    def carriers(self) -> Mapping[str, str]:
        """By prefix. A longer prefix overrides the shorter one that contains it."""
        return {prefix: name for name, prefixes in self.given.items() for prefix in prefixes.split()}

    @cached_property
    def test_numbers(self) -> Mapping[str, str]:
        """By their last four digits."""
        return {suffix: f"+{self.calling_code}{self.test_stem}{suffix}" for suffix in TEST_SUFFIXES}

    def operator_of(self, national_number: str) -> Operator | None:
        """By the longest prefix that is known."""
        begins = (national_number[:length] for length in range(len(national_number), 0, -1))
        return self.operator_named(next((self.carriers[begin] for begin in begins if begin in self.carriers), ""))

    def operator_named(self, carrier: str) -> Operator | None:
        return next((operator for operator in self.operators if carrier.lower() in operator.carriers), None)


_AIRTEL = Operator("airtel", "Airtel Money", ("airtel",))
_MTN = Operator("mtn", "MTN MoMo", ("mtn",))
MOBILE_MONEY: dict[Currency, MobileMoney] = {
    Currency.KES: MobileMoney(
        calling_code=254,
        adjective="Kenyan",
        example="0712 345 678",
        test_stem="71234",
        operators=(
            Operator("mpesa", "M-PESA", ("safaricom",)),
            _AIRTEL,
            Operator("tkash", "T-kash", ("telkom", "orange")),
        ),
        given={
            "Safaricom": "11 14 18 70 71 72 74 757 758 759 768 769 79",
            "Airtel": "10 135 136 137 138 139 73 75 76 78",
            "Telkom": "120 761 77",
            "Infura": "121",
            "Finserve": "124",
            "NRG Media Limited": "130",
            "Homeland Media": "744",
            "JTL": "747",
        },
    ),
    Currency.UGX: MobileMoney(
        calling_code=256,
        adjective="Ugandan",
        example="0772 345 678",
        test_stem="77234",
        operators=(_MTN, _AIRTEL),
        given={
            "MTN": "724 737 76 77 78 79",
            "Airtel": "70 730 731 732 74 75",
            "UTL": "71",
            "Smile": "720",
            "LycaMobile": "721 726 727",
            "Savanna": "7210",
            "Hamilton Telecom": "7240 736",
            "Talkio": "728",
            "Roke Telkom": "734",
            "Africell": "798 799",
        },
    ),
    Currency.GHS: MobileMoney(
        calling_code=233,
        adjective="Ghanaian",
        example="024 123 4567",
        test_stem="24412",
        operators=(
            _MTN,
            Operator("telecel", "Telecel Cash", ("telecel", "vodafone")),
            Operator("at", "AT Money", ("at", "airteltigo", "airtel", "tigo")),
        ),
        given={
            "MTN": "24 25 53 54 55 59",
            "Telecel": "20 50",
            "at": "23 26 27 56 57",
            "Expresso": "28",
            "National Security": "29",
        },
    ),
    Currency.ZMW: MobileMoney(
        calling_code=260,
        adjective="Zambian",
        example="097 123 4567",
        test_stem="97712",
        operators=(_AIRTEL, _MTN, Operator("zamtel", "Zamtel Money", ("zamtel",))),
        given={
            "Airtel": "57 77 97",
            "MTN": "56 76 96",
            "ZAMTEL": "55 75 95",
            "Beeline Telecoms": "58 78 98",
        },
    ),
    Currency.TZS: MobileMoney(
        calling_code=255,
        adjective="Tanzanian",
        example="0754 123 456",
        test_stem="75412",
        operators=(
            Operator("mpesa", "M-Pesa", ("vodacom",)),
            Operator("mixx", "Mixx by Yas", ("yas", "tigo")),
            _AIRTEL,
            Operator("halopesa", "HaloPesa", ("viettel", "halotel")),
            Operator("tpesa", "T-Pesa", ("tanzania telecom", "ttcl")),
        ),
        given={
            "Vodacom": "72 74 75 76 79",
            "Yas": "65 67 70 71 77",
            "Airtel": "60 66 68 69 78",
            "Viettel": "61 62 63",
            "Tanzania Telecom": "73",
        },
    ),
}
