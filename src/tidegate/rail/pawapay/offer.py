"""What pawaPay takes, as its configuration of our account says. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tidegate.core.method import Method
from tidegate.core.money import Currency
from tidegate.rail.action import PromptAction
from tidegate.rail.capability import AmountLimits, Capabilities, MethodTerms
from tidegate.rail.instrument import Phone
from tidegate.rail.interface import StartAttempt
from tidegate.rail.pawapay import wire
from tidegate.rail.pawapay.wire import ActiveConfiguration, OperationTerms, PawapayUnreadable, Provider

DEPOSIT, REFUND = "DEPOSIT", "REFUND"
OPERATIONAL = "OPERATIONAL"
# The prompt appears on the phone; pages and codes of other operators are not offered.
_BY_PROMPT = "PROVIDER_AUTH"
# Our operators of mobile money, as pawaPay names them.
PROVIDERS: Mapping[Currency, Mapping[str, str]] = {
    Currency.KES: {"mpesa": "MPESA_KEN"},
    Currency.UGX: {"mtn": "MTN_MOMO_UGA", "airtel": "AIRTEL_OAPI_UGA"},
    Currency.GHS: {"mtn": "MTN_MOMO_GHA", "telecel": "VODAFONE_GHA", "at": "AIRTELTIGO_GHA"},
    Currency.ZMW: {"mtn": "MTN_MOMO_ZMB", "airtel": "AIRTEL_OAPI_ZMB", "zamtel": "ZAMTEL_ZMB"},
    Currency.TZS: {"mpesa": "VODACOM_TZA", "mixx": "TIGO_TZA", "airtel": "AIRTEL_TZA", "halopesa": "HALOTEL_TZA"},
}


class ProviderTerms(NamedTuple):
    limits: AmountLimits
    is_open: bool
    action: PromptAction


TermsByOperator = Mapping[Currency, Mapping[str, ProviderTerms]]


def terms_in(found: ActiveConfiguration) -> TermsByOperator:
    """By currency and operator: those that the account at pawaPay has."""
    listed = {
        (provider.provider, own.currency): (provider, own.operation_types[DEPOSIT])
        for country in found.countries
        for provider in country.providers
        for own in provider.currencies
        if DEPOSIT in own.operation_types
    }
    terms: dict[Currency, dict[str, ProviderTerms]] = {}
    for currency, operators in PROVIDERS.items():
        for operator, name in operators.items():
            if (name, currency) in listed:
                own = _terms(currency, *listed[name, currency])
                if own is not None:
                    terms.setdefault(currency, {})[operator] = own
    return terms


def _terms(currency: Currency, provider: Provider, deposit: OperationTerms) -> ProviderTerms | None:
    """None for limits that are not understood: an operator is rather not offered."""
    if deposit.auth_type not in ("", _BY_PROMPT):
        return None
    try:
        limits = AmountLimits(
            minor_min=max(1, wire.limit(deposit.min_amount, currency, is_minimum=True)),
            minor_max=wire.limit(deposit.max_amount, currency, is_minimum=False),
            minor_step=1 if deposit.decimals_in_amount == "TWO_PLACES" else currency.minor_per_major,
        )
    except PawapayUnreadable:
        return None
    action = PromptAction(text=provider.name_displayed_to_customer or None, dial=_dial(deposit))
    return ProviderTerms(limits, deposit.status == OPERATIONAL, action)


def _dial(deposit: OperationTerms) -> str | None:
    """Where the prompt does not come by itself."""
    if deposit.pin_prompt != "MANUAL" or deposit.pin_prompt_instructions is None:
        return None
    codes = (one.variables.get("shortCode") for one in deposit.pin_prompt_instructions.channels if one.type == "USSD")
    return next((code for code in codes if isinstance(code, str) and code), None)


def prompt_of(terms: TermsByOperator | None, provider: str) -> PromptAction:
    for currency, operators in PROVIDERS.items():
        for operator, name in operators.items():
            if name == provider and operator in (terms or {}).get(currency, {}):
                return (terms or {})[currency][operator].action
    return PromptAction()


def capabilities_of(terms: TermsByOperator | None, *, is_up: bool) -> Capabilities:
    """Before the configuration is known, all that pawaPay has could be taken, and nothing is taken now."""
    known: Mapping[Currency, Any] = PROVIDERS if terms is None else terms
    return Capabilities(
        methods={currency: {Method.MOBILE_MONEY: _method_terms(terms, currency, is_up)} for currency in known},
        lists_transactions=True,
    )


def _method_terms(terms: TermsByOperator | None, currency: Currency, is_up: bool) -> MethodTerms:
    open_ones = {operator: own.limits for operator, own in (terms or {}).get(currency, {}).items() if own.is_open}
    if not open_ones:
        return MethodTerms(choices={}, is_open=False)
    limits = AmountLimits(
        minor_min=min(own.minor_min for own in open_ones.values()),
        minor_max=max(own.minor_max for own in open_ones.values()),
        # Steps are 1 and whole amounts: the finer one is offered as long as some operator takes it.
        minor_step=min(own.minor_step for own in open_ones.values()),
    )
    return MethodTerms(limits=limits, choices=open_ones, is_open=is_up)


def deposit_request(attempt: StartAttempt, deposit_id: str) -> dict[str, Any]:
    assert isinstance(attempt.instrument, Phone)
    return {
        "depositId": deposit_id,
        "payer": {
            "type": "MMO",
            "accountDetails": {
                "phoneNumber": attempt.instrument.number.removeprefix("+"),
                "provider": provider_of(attempt),
            },
        },
        "amount": wire.amount_text(attempt.amount),
        "currency": attempt.amount.currency,
        "clientReferenceId": attempt.reference,
        # One key in each object.
        "metadata": [{"tidegateBusiness": attempt.business_id}, {"tidegateReference": attempt.reference}],
    }


def provider_of(attempt: StartAttempt) -> str:
    assert isinstance(attempt.instrument, Phone)
    return PROVIDERS[attempt.amount.currency][attempt.instrument.operator]
