"""Settings of the rails that move real money."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tidegate.core.money import Currency
from tidegate.settings_reader import SettingsReader

PAYSTACK_URL = "https://api.paystack.co"
# From where Paystack sends notifications, in both modes.
PAYSTACK_ADDRESSES = ("52.31.139.75", "52.49.173.169", "52.214.14.220")
PAYSTACK_CURRENCIES = (Currency.NGN, Currency.GHS, Currency.ZAR, Currency.KES)
PAWAPAY_URL = "https://api.pawapay.io"
_PAWAPAY_SANDBOX = "sandbox.pawapay.io"
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
        base_url = api_address(read, "TIDEGATE_PAYSTACK_BASE_URL", PAYSTACK_URL)
        key = read.text("TIDEGATE_PAYSTACK_SECRET_KEY")
        is_emulated = is_loopback(base_url)
        if not _PAYSTACK_KEY.fullmatch(key):
            read.problems.append("TIDEGATE_PAYSTACK_SECRET_KEY must be a secret key of Paystack, sk_live_….")
        elif not is_emulated and not key.startswith("sk_live_"):
            read.problems.append("TIDEGATE_PAYSTACK_SECRET_KEY is a test key: live mode needs one that moves money.")
        old_key = read.text("TIDEGATE_PAYSTACK_SECRET_KEY_OLD")
        if old_key and not _PAYSTACK_KEY.fullmatch(old_key):
            read.problems.append("TIDEGATE_PAYSTACK_SECRET_KEY_OLD must be a secret key of Paystack, sk_live_….")
        elif old_key and old_key[: len("sk_live")] != key[: len("sk_live")]:
            # It can sign a notification.
            read.problems.append("TIDEGATE_PAYSTACK_SECRET_KEY_OLD must be of the same mode as the new key.")
        return cls(
            secret_key=key,
            old_secret_key=old_key or None,
            base_url=base_url,
            currencies=_currencies(read, "TIDEGATE_PAYSTACK_CURRENCIES"),
            has_pesalink=read.choice("TIDEGATE_PAYSTACK_PESALINK", ["yes", "no"], default="no") == "yes",
            webhook_ips=_addresses(read, "TIDEGATE_PAYSTACK_WEBHOOK_IPS"),
        )


@dataclass(frozen=True, kw_only=True)
class PawapaySettings:
    token: str = field(repr=False)
    base_url: str = PAWAPAY_URL
    # Signs our requests, where the account at pawaPay takes only signed ones. In PEM: an object of OpenSSL could not be
    # given to another process.
    signing_key: str | None = field(default=None, repr=False)
    # As pawaPay's dashboard names the key.
    signing_key_id: str = ""

    @classmethod
    def read(cls, read: SettingsReader) -> PawapaySettings:
        base_url = api_address(read, "TIDEGATE_PAWAPAY_BASE_URL", PAWAPAY_URL)
        token, key_id = read.text("TIDEGATE_PAWAPAY_TOKEN"), read.text("TIDEGATE_PAWAPAY_SIGNING_KEY_ID")
        if (urlsplit(base_url).hostname or "").endswith(_PAWAPAY_SANDBOX):
            read.problems.append(
                "TIDEGATE_PAWAPAY_BASE_URL is pawaPay's sandbox: live mode needs one that moves money."
            )
        if not re.fullmatch(r"[!-~]{16,4000}", token):
            read.problems.append("TIDEGATE_PAWAPAY_TOKEN must be an API token of pawaPay, made in its dashboard.")
        key = _ec_key(read, "TIDEGATE_PAWAPAY_SIGNING_KEY")
        if (key is None) != (not key_id) or not re.fullmatch(r"[\w.:-]{0,100}", key_id, re.ASCII):
            read.problems.append(
                "TIDEGATE_PAWAPAY_SIGNING_KEY and TIDEGATE_PAWAPAY_SIGNING_KEY_ID must be set together: the private "
                "key, and the name that pawaPay's dashboard gives its public key."
            )
        return cls(token=token, base_url=base_url, signing_key=key, signing_key_id=key_id)


def _ec_key(read: SettingsReader, name: str) -> str | None:
    """In PEM; its line breaks may be written as `\\n`."""
    text = read.text(name).replace("\\n", "\n")
    if not text:
        return None
    try:
        key = load_pem_private_key(text.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if isinstance(key, ec.EllipticCurvePrivateKey) and isinstance(key.curve, ec.SECP256R1):
        return text
    read.problems.append(f"{name} must be an EC P-256 private key in PEM, without a password.")
    return None


def api_address(read: SettingsReader, name: str, usual: str) -> str:
    """Of a rail's API; that of an emulator is on this machine."""
    address = read.text(name, usual).rstrip("/")
    if not address.startswith("https://") and not is_loopback(address):
        read.problems.append(f"{name} must begin with https://, except on this machine.")
    return address


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
