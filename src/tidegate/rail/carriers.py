"""Number prefixes of the carriers, in the countries with mobile money.

The full tables, `phonenumbers.carrierdata`, take 10 MB of memory. These are its entries for five countries; a test
compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping

# By calling code: prefixes of national numbers. A longer prefix overrides the shorter one that contains it.
_GIVEN_TO: Mapping[int, Mapping[str, str]] = {
    233: {
        "MTN": "24 25 53 54 55 59",
        "Telecel": "20 50",
        "at": "23 26 27 56 57",
        "Expresso": "28",
        "National Security": "29",
    },
    254: {
        "Safaricom": "11 14 18 70 71 72 74 757 758 759 768 769 79",
        "Airtel": "10 135 136 137 138 139 73 75 76 78",
        "Telkom": "120 761 77",
        "Infura": "121",
        "Finserve": "124",
        "NRG Media Limited": "130",
        "Homeland Media": "744",
        "JTL": "747",
    },
    255: {
        "Vodacom": "72 74 75 76 79",
        "Yas": "65 67 70 71 77",
        "Airtel": "60 66 68 69 78",
        "Viettel": "61 62 63",
        "Tanzania Telecom": "73",
    },
    256: {
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
    260: {
        "Airtel": "57 77 97",
        "MTN": "56 76 96",
        "ZAMTEL": "55 75 95",
        "Beeline Telecoms": "58 78 98",
    },
}
CARRIERS: Mapping[int, Mapping[str, str]] = {
    code: {prefix: name for name, prefixes in given.items() for prefix in prefixes.split()}
    for code, given in _GIVEN_TO.items()
}


def carrier_of(national: str, calling_code: int) -> str:
    """Empty when unknown."""
    carriers = CARRIERS[calling_code]
    begins = (national[:length] for length in range(len(national), 0, -1))
    return next((carriers[begin] for begin in begins if begin in carriers), "")
