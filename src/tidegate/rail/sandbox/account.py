"""Permanent accounts of the sandbox's bank. The numbers are well-formed and belong to no real bank."""

from __future__ import annotations

from tidegate.core.bank_number import iban_of, routing_number_of
from tidegate.core.errors import Invalid, Problem
from tidegate.core.money import ACCOUNT_OFFERS, Currency
from tidegate.rail.interface import AccountDetails
from tidegate.rail.sandbox.begin import BANK_CODE, BANK_NAME, scattered

# The first digit of a German bank code is its clearing area, and those are 1 to 8.
GERMAN_BANK_CODE = "99999999"
# Prefix 80 was reserved for traveller's cheques: it passes format checks, and no bank has accounts under it.
ROUTING_NUMBER = routing_number_of("80999999")
# A 0 as the eighth character marks a test BIC, unknown to the live network.
GERMAN_BIC = "TIDGDEF0"

_SERIAL_DIGITS = 9
# The prefix before the serial: German account numbers have 10 digits; with 12, no temporary account looks like one.
_GERMAN_PREFIX = "9"
_PREFIX_ELSEWHERE = "900"


def details_of(currency: Currency, *, serial: int, reference: str) -> AccountDetails:
    """`serial` is unused; `reference` is the rail's identifier of the account."""
    offer = currency.spec.account
    if offer is None:
        raise Invalid(Problem("currency", f"must be one of {', '.join(sorted(ACCOUNT_OFFERS))}"))
    number = scattered(serial, _SERIAL_DIGITS)
    if offer.country == "DE":
        return _german(_GERMAN_PREFIX + number, reference)
    return _elsewhere(offer.country, _PREFIX_ELSEWHERE + number, reference)


def _german(local_number: str, reference: str) -> AccountDetails:
    iban = iban_of("DE", GERMAN_BANK_CODE + local_number)
    return AccountDetails(
        account_number=iban,
        local_number=local_number,
        iban=iban,
        bank_code=GERMAN_BANK_CODE,
        swift_code=GERMAN_BIC,
        bank_name=BANK_NAME,
        country_code="DE",
        reference=reference,
    )


def _elsewhere(country: str, local_number: str, reference: str) -> AccountDetails:
    return AccountDetails(
        account_number=local_number,
        local_number=local_number,
        bank_code=ROUTING_NUMBER if country == "US" else BANK_CODE,
        swift_code=f"TIDG{country}30",
        bank_name=BANK_NAME,
        country_code=country,
        reference=reference,
    )
