"""A person, a session, a membership, an invitation; and the pure rules on them."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from datetime import datetime, timedelta

import msgspec

from tidegate.core.errors import Invalid, Problem
from tidegate.member.permission import NEEDS_SECOND_FACTOR, Role
from tidegate.member.realm import Realm
from tidegate.merchant import field

STEP_UP_LASTS = timedelta(minutes=10)
# A visit is noted at most this often.
SEEN_EVERY = timedelta(minutes=1)
INVITATION_LASTS = timedelta(hours=72)
RESET_LASTS = timedelta(minutes=30)
ENTER_LASTS = timedelta(minutes=15)
FACTOR_FAILURES_MAX = 5
RECOVERY_CODES = 10
PASSKEYS_MAX = 10
PASSKEY_NAME_CHARS_MAX = 60
EMAIL_CHARS_MAX = 254
NAME_CHARS_MAX = 100
BROWSER_CHARS_MAX = 200
_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A person who signs in."""

    id: str
    email: str
    name: str
    has_password: bool
    has_totp: bool
    has_passkey: bool

    @property
    def has_second_factor(self) -> bool:
        return self.has_totp or self.has_passkey

    @property
    def second_factors(self) -> str:
        """In words; empty without one."""
        found = (("passkey", self.has_passkey), ("codes of an app", self.has_totp))
        return " and ".join(word for word, has in found if has)

    @property
    def is_of_sandbox(self) -> bool:
        """Seeded: without factors, so that every user of the sandbox's machine may sign in as them."""
        return not self.has_password and not self.has_second_factor


class MemberSession(msgspec.Struct, frozen=True, kw_only=True):
    token_hash: bytes
    id: int
    member: Member
    has_second_factor: bool
    stepped_up_at: datetime | None
    browser: str
    address: str
    created_at: datetime
    seen_at: datetime
    # Of one of the operator's staff who looks at a business: it changes nothing, nor how they sign in.
    is_view: bool = False

    def is_over(self, realm: Realm, now: datetime) -> bool:
        return now - self.seen_at >= realm.idle_max or now - self.created_at >= realm.session_max

    def is_stepped_up(self, now: datetime) -> bool:
        return self.stepped_up_at is not None and now - self.stepped_up_at < STEP_UP_LASTS

    def needs_enrolment(self, membership: Membership) -> bool:
        return membership.needs_two_step and self.lacks_second_factor

    @property
    def lacks_second_factor(self) -> bool:
        return not self.member.has_second_factor and not self.member.is_of_sandbox

    @property
    def needs_second_factor(self) -> bool:
        return self.member.has_second_factor and not self.has_second_factor


class Membership(msgspec.Struct, frozen=True, kw_only=True):
    business_id: str
    business_code: str
    business_name: str
    role: Role
    # By the operator's staff, who change nothing.
    is_viewed: bool = False
    # The business demands it of all its members.
    two_step_for_all: bool = False

    @property
    def needs_two_step(self) -> bool:
        return self.two_step_for_all or self.role in NEEDS_SECOND_FACTOR


class Passkey(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    person_id: str
    credential_id: bytes
    public_key: bytes
    sign_count: int
    name: str
    created_at: datetime
    used_at: datetime | None


class TeamMember(msgspec.Struct, frozen=True, kw_only=True):
    member: Member
    role: Role
    seen_at: datetime | None


class Invitation(msgspec.Struct, frozen=True, kw_only=True):
    business_id: str
    id: int
    email: str
    role: Role
    invited_by: str
    expires_at: datetime
    is_open: bool

    def is_usable(self, now: datetime) -> bool:
        return self.is_open and now < self.expires_at


def new_token() -> str:
    """256 bits."""
    return secrets.token_urlsafe(32)


def hash_of_token(token: str) -> bytes | None:
    """None for what cannot be one of ours."""
    return hashlib.sha256(token.encode()).digest() if _TOKEN.fullmatch(token) else None


def email_in(text: str) -> str:
    """In lower case. Raises Invalid."""
    email = text.strip().lower()
    if len(email) > EMAIL_CHARS_MAX or not field.is_email(email):
        raise Invalid(Problem("email", "Enter an e-mail address, such as ada@example.com."))
    return email


def name_in(text: str) -> str:
    return field.name_in(text, chars_max=NAME_CHARS_MAX)


def new_recovery_codes() -> list[str]:
    """80 bits each, in groups of four."""
    texts = (base64.b32encode(secrets.token_bytes(10)).decode().lower() for _ in range(RECOVERY_CODES))
    return ["-".join(text[at : at + 4] for at in range(0, 16, 4)) for text in texts]


def hash_of_code(code: str) -> bytes:
    """Spaces, hyphens and capitals do not matter. 80 random bits need no slow hash."""
    return hashlib.sha256(re.sub(r"[^a-z0-9]", "", code[:64].lower()).encode()).digest()
