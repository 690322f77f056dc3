"""Settings of the rails that move real money."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tidegate.core.money import Currency
from tidegate.settings_reader import SettingsReader

PAYSTACK_URL = "https://api.paystack.co"
# From where Paystack sends notifications, in both modes.
PAYSTACK_ADDRESSES = ("52.31.139.75", "52.49.173.169", "52.214.14.220")
PAYSTACK_CURRENCIES = (Currency.NGN, Currency.GHS, Currency.ZAR, Currency.KES)
_PAYSTACK_KEY = re.compile(r"sk_(live|test)_[0-9A-Za-z]{8,100}")


@dataclass(frozen=True, kw_only=True)
class PaystackSettings:
    secret_key: str = field(repr=False)
    # Still accepted in signatures while keys are exchanged.
    old_secret_key: str | None = field(default=None, repr=False)
    base_url: str = PAYSTACK_URL
    # Enabled on the account at Paystack.
    currencies: tuple[Currency, ...] = PAYSTACK_CURRENCIES
    # Bank transfer in KES, which Paystack enables on request.
    has_pesalink: bool = False
    # Empty for any.
    webhook_ips: tuple[str, ...] = PAYSTACK_ADDRESSES

    @property
    def domain(self) -> str:
        """The mode, as Paystack's objects name it."""
        return "live" if self.secret_key.startswith("sk_live_") else "test"

    @classmethod
    def read(cls, read: SettingsReader) -> PaystackSettings:
        base_url = read.text("TIDEGATE_PAYSTACK_BASE_URL", PAYSTACK_URL).rstrip("/")
        key = read.text("TIDEGATE_PAYSTACK_SECRET_KEY")
        is_emulated = is_loopback(base_url)
        if not base_url.startswith("https://") and not is_emulated:
            read.problems.append("TIDEGATE_PAYSTACK_BASE_URL must begin with https://, except on this machine.")
        if not _PAYSTACK_KEY.fullmatch(key):
            read.problems.append("TIDEGATE_PAYSTACK_SECRET_KEY must be a secret key of Paystack, sk_live_….")
        elif not is_emulated and not key.startswith("sk_live_"):
            read.problems.append("TIDEGATE_PAYSTACK_SECRET_KEY is a test key: live mode needs one that moves money.")
        return cls(
            secret_key=key,
            old_secret_key=read.text("TIDEGATE_PAYSTACK_SECRET_KEY_OLD") or None,
            base_url=base_url,
            currencies=_currencies(read, "TIDEGATE_PAYSTACK_CURRENCIES"),
            has_pesalink=read.choice("TIDEGATE_PAYSTACK_PESALINK", ["yes", "no"], default="no") == "yes",
            webhook_ips=_addresses(read, "TIDEGATE_PAYSTACK_WEBHOOK_IPS"),
        )


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _currencies(read: SettingsReader, name: str) -> tuple[Currency, ...]:
    codes = read.text(name).replace(",", " ").split()
    known = ", ".join(PAYSTACK_CURRENCIES)
    if any(code not in PAYSTACK_CURRENCIES for code in codes):
        read.problems.append(f"{name} must name currencies of {known}.")
        return ()
    return tuple(Currency(code) for code in codes) or PAYSTACK_CURRENCIES


def _addresses(read: SettingsReader, name: str) -> tuple[str, ...]:
    text = read.text(name)
    if text == "any":
        return ()
    try:
        return tuple(str(ipaddress.ip_address(word)) for word in text.replace(",", " ").split()) or PAYSTACK_ADDRESSES
    except ValueError:
        read.problems.append(f"{name} must be IP addresses, or `any`.")
        return PAYSTACK_ADDRESSES
