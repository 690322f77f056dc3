"""Examines the account at pawaPay: token, signatures, callbacks, operators, balances."""

from __future__ import annotations

from tidegate.core.finding import Finding
from tidegate.rail.interface import RailBusy, RailRefused, RailTimeout
from tidegate.rail.pawapay import offer
from tidegate.rail.pawapay.client import PawapayClient
from tidegate.rail.pawapay.configuration import Configuration, SigningKeys
from tidegate.rail.pawapay.wire import ActiveConfiguration, WalletBalances
from tidegate.rail_settings import PawapaySettings

SUBJECT = "rail pawapay"


async def findings(
    client: PawapayClient,
    configuration: Configuration,
    keys: SigningKeys,
    settings: PawapaySettings,
    *,
    callback_url: str,
) -> list[Finding]:
    try:
        found = await configuration.refresh()
        balances = await client.get("/v2/wallet-balances", WalletBalances)
        count = await keys.fetch()
    except (RailTimeout, RailBusy, RailRefused) as error:
        advice = "check TIDEGATE_PAWAPAY_TOKEN, and that this machine reaches pawaPay"
        return [Finding(SUBJECT, False, str(error), advice)]
    held = ", ".join(f"{one.currency} {one.balance}" for one in balances.balances)
    return [
        Finding(SUBJECT, True, f"token accepted; {found.company_name} holds {held or 'nothing'}"),
        _signatures(found, settings, count),
        _callbacks(found, callback_url),
        _operators(configuration),
    ]


def _signatures(found: ActiveConfiguration, settings: PawapaySettings, keys: int) -> Finding:
    switches = found.signature_configuration
    if switches.signed_requests_only and settings.signing_key is None:
        advice = "set TIDEGATE_PAWAPAY_SIGNING_KEY and TIDEGATE_PAWAPAY_SIGNING_KEY_ID"
        return Finding(SUBJECT, False, "the account takes signed requests only, and there is no key", advice)
    if not switches.signed_callbacks:
        advice = "switch on signed callbacks in pawaPay's dashboard"
        return Finding(SUBJECT, False, "callbacks are not signed: each only makes us ask, which takes longer", advice)
    return Finding(SUBJECT, True, f"callbacks are signed; pawaPay has {keys} public keys")


def _callbacks(found: ActiveConfiguration, callback_url: str) -> Finding:
    others = {
        f"{kind.lower()}s of {provider.provider} to {terms.callback_url}"
        for country in found.countries
        for provider in country.providers
        for own in provider.currencies
        for kind, terms in own.operation_types.items()
        if kind in (offer.DEPOSIT, offer.REFUND) and terms.callback_url and terms.callback_url != callback_url
    }
    advice = f"set the callback URLs for deposits and refunds to {callback_url} in pawaPay's dashboard"
    what = f"callbacks go elsewhere: {', '.join(sorted(others)[:5])}" if others else f"callbacks go to {callback_url}"
    return Finding(SUBJECT, not others, what, advice)


def _operators(configuration: Configuration) -> Finding:
    """No failure: operators close for maintenance, and the page does not offer them meanwhile."""
    terms = configuration.terms or {}
    closed = [
        f"{operator} in {currency}" for currency, own in terms.items() for operator in own if not own[operator].is_open
    ]
    listed = ", ".join(f"{currency} by {' '.join(own)}" for currency, own in terms.items())
    what = f"takes {listed or 'nothing of ours'}" + (f"; closed at the moment: {', '.join(closed)}" if closed else "")
    return Finding(SUBJECT, bool(terms), what, "have the operators enabled by pawaPay")
