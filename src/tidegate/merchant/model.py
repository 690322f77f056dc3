"""A business and its keys."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address

from tidegate.core.described_enum import DescribedEnum
from tidegate.core.fee import DEFAULT_FEE_RULE_BY_ID, DEFAULT_FEE_RULES, FeeBearer, FeeRule
from tidegate.core.method import Priced
from tidegate.core.money import Currency, Money

# During a roll both the old and the new secret key work for this long.
ROLL_OVERLAP = timedelta(hours=24)
ROLL_OVERLAP_MAX = timedelta(days=7)


class BusinessStatus(DescribedEnum):
    ACTIVE = "active", "In use."
    SUSPENDED = "suspended", "Suspended by the operator: its keys are refused."


class NamePolicy(DescribedEnum):
    """The treatment of an inflow whose typed recipient is not exactly the account holder's name."""

    HOLD = "hold", "A close or missing name is held for the operator's decision."
    STRICT = "strict", "Anything but the same name is returned at once."


class KeyScope(DescribedEnum):
    """What a restricted key may do."""

    READ = "read", "Read payments, inflows, refunds, wallets and settings."
    CREATE = "create", "Create and change payments, payment links and virtual accounts."
    REFUND = "refund", "Refund payments and inflows."
    WEBHOOKS = "webhooks", "Read and change webhook endpoints and deliveries."


class KeyKind(StrEnum):
    SECRET = "secret"  # noqa: S105 - a kind of key, not a key
    PUBLIC = "public"


@dataclass(frozen=True, slots=True)
class Support:
    """Contacts for payers; the phone number in international form."""

    email: str | None = None
    phone: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Brand:
    """The business's choices for the payer's pages; None where it has made none."""

    accent: str | None = None
    logo_hash: str | None = None
    support: Support = Support()


@dataclass(frozen=True, slots=True)
class Business:
    id: str
    number: int
    code: str
    name: str
    email: str
    status: BusinessStatus
    rate_per_second: int
    rate_burst: int
    session_minutes: int
    redirect_hosts: tuple[str, ...]
    checkout_origins: tuple[str, ...]
    variance_policy: str
    variance_tolerance_minor: int
    inflow_name_policy: NamePolicy
    own_fee_rules: Mapping[tuple[Currency, Priced], FeeRule]
    brand: Brand
    time_zone: str
    receipts_by_mail: bool
    # Every member of its dashboard needs a second factor.
    two_step_for_all: bool
    created_at: datetime
    # Of payments and links that do not say it.
    fee_bearer: FeeBearer
    # Not while strangers try out stolen ones there: `card_pause.py`.
    takes_cards: bool
    # Why the operator suspended it; None while it is active.
    suspended_for: str | None = None

    @property
    def is_active(self) -> bool:
        return self.status is BusinessStatus.ACTIVE

    @property
    def support(self) -> Support:
        """A payer always has a contact: the business's own e-mail address when it has chosen none."""
        chosen = self.brand.support
        return chosen if chosen.url or chosen.email or chosen.phone else _by_email(self.email)

    def fee_rule_for(self, currency: Currency, method: Priced) -> FeeRule:
        """The business's own fee rule where it has one, otherwise the default."""
        return self.own_fee_rules.get((currency, method)) or DEFAULT_FEE_RULES[currency, method]

    def fee_rule_by_id(self, rule_id: str) -> FeeRule | None:
        """None for a rule of the business's own that has ended."""
        own = (rule for rule in self.own_fee_rules.values() if rule.id == rule_id)
        return DEFAULT_FEE_RULE_BY_ID.get(rule_id) or next(own, None)


@lru_cache(maxsize=1_000)
def _by_email(email: str) -> Support:
    """Cached: every page of the business reads it."""
    return Support(email=email)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as stored: a hash that recognises the key, never the key."""

    id: int
    business_id: str
    kind: KeyKind
    key_hash: bytes
    public_key: str | None
    last_four: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    name: str | None = None
    # None for everything.
    scopes: frozenset[KeyScope] | None = None
    # Empty for anywhere.
    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    # By currency, in minor units; None for no limit.
    refund_max: Mapping[Currency, int] | None = None
    used_at: datetime | None = None
    used_from: str | None = None

    @property
    def is_lasting(self) -> bool:
        return self.revoked_at is None and self.expires_at is None

    def may(self, scope: str) -> bool:
        return self.scopes is None or scope in self.scopes

    def may_come_from(self, address: str) -> bool:
        if not self.networks:
            return True
        try:
            found = ip_address(address)
        except ValueError:
            return False
        mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
        return any((mapped or found) in network for network in self.networks)

    def may_refund(self, amount: Money) -> bool:
        return self.refund_max is None or amount.minor <= self.refund_max.get(amount.currency, 0)

    def is_valid_at(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True)
class KeyUse:
    business_id: str
    key_id: int
    address: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Caller:
    """The authenticated business and its key."""

    business: Business
    key: ApiKey

    def __str__(self) -> str:
        return f"{self.business.id}/{self.key.id}"


def hash_of(key: str) -> bytes:
    """A key has 190 random bits, so one round of SHA-256 is as strong as a slow hash and 10,000 times cheaper."""
    return hashlib.sha256(key.encode(errors="surrogateescape")).digest()


@dataclass(frozen=True)
class KeyPrint:
    """What is stored of a secret key: enough to know it again."""

    hash: bytes
    last_four: str


def print_of(secret: str) -> KeyPrint:
    return KeyPrint(hash_of(secret), secret[-4:])
