"""Bank identifiers: IBAN and routing number made, IBAN and BIC checked."""

from __future__ import annotations

import re
import unicodedata

# Length of an IBAN by country, from the registry of ISO 13616.
IBAN_LENGTHS: dict[str, int] = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BI": 27, "BR": 29,
    "BY": 28, "CH": 21, "CR": 22, "CY": 28, "CZ": 24, "DE": 22, "DJ": 27, "DK": 18, "DO": 28, "EE": 20, "EG": 29,
    "ES": 24, "FI": 18, "FK": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22, "GI": 23, "GL": 18, "GR": 27, "GT": 28,
    "HN": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30, "KZ": 20,
    "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19,
    "MN": 20, "MR": 27, "MT": 31, "MU": 30, "NI": 28, "NL": 18, "NO": 15, "OM": 23, "PK": 24, "PL": 28, "PS": 29,
    "PT": 25, "QA": 29, "RO": 24, "RS": 22, "RU": 33, "SA": 24, "SC": 31, "SD": 18, "SE": 24, "SI": 19, "SK": 24,
    "SM": 27, "SO": 23, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
    "YE": 30,
}  # fmt: skip

_BBAN = re.compile(r"[0-9A-Z]+", re.ASCII)
_BIC = re.compile(r"[A-Z]{6}[0-9A-Z]{2}(?:[0-9A-Z]{3})?", re.ASCII)
_ROUTING_BODY = re.compile(r"[0-9]{8}", re.ASCII)
# Federal Reserve districts, thrift institutions, electronic transfers and traveller's cheques. No others exist.
_ROUTING_PREFIXES = frozenset(f"{number:02d}" for number in (*range(13), *range(21, 33), *range(61, 73), 80))
_ROUTING_WEIGHTS = (3, 7, 1, 3, 7, 1, 3, 7)
# Spaces and dashes of every width, and invisible characters.
_BETWEEN_GROUPS = frozenset({"Zs", "Pd", "Cf", "Cc"})


def normal_account_number(text: str) -> str:
    """As a bank stores it. May be typed in groups, with hyphens, in lower case."""
    return "".join(c for c in text if unicodedata.category(c) not in _BETWEEN_GROUPS).upper()


def iban_of(country: str, bban: str) -> str:
    """With the check digits of ISO 7064 mod 97-10, from the national account number (BBAN)."""
    if len(bban) + 4 != IBAN_LENGTHS.get(country) or not _BBAN.fullmatch(bban):
        raise ValueError(f"{bban!r} is not an account number of {country}")
    check = 98 - int("".join(str(int(c, 36)) for c in f"{bban}{country}00")) % 97
    return f"{country}{check:02d}{bban}"


def is_iban(text: str) -> bool:
    given = normal_account_number(text)
    try:
        # Recomputed: division by 97 would also accept the check digits 00, 01 and 99.
        return given == iban_of(given[:2], given[4:])
    except ValueError:
        return False


def is_bic(text: str) -> bool:
    """Has the form of ISO 9362, with or without a branch. Whether the bank exists is not checked."""
    return _BIC.fullmatch(text) is not None


def routing_number_of(first_eight: str) -> str:
    """An ABA routing number, with its check digit."""
    if not _ROUTING_BODY.fullmatch(first_eight) or first_eight[:2] not in _ROUTING_PREFIXES:
        raise ValueError(f"no routing number begins with {first_eight!r}")
    total = sum(weight * int(digit) for weight, digit in zip(_ROUTING_WEIGHTS, first_eight, strict=True))
    return f"{first_eight}{-total % 10}"
