"""Passkeys: registered, shown to sign in, as second factor or as fresh proof, and removed.

The webauthn library makes the options and checks the answers. User verification is always required, so that one
passkey counts as password and second factor together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cryptography.exceptions import UnsupportedAlgorithm

from tidegate.core.errors import Conflict, Invalid, NotFound, Problem
from tidegate.infra.db import Tx
from tidegate.infra.http.public_url import PublicUrl
from tidegate.infra.lazy_module import LazyModule
from tidegate.member import challenge, factor, passkey_store, session_store, store
from tidegate.member.model import (
    PASSKEY_NAME_CHARS_MAX,
    PASSKEYS_MAX,
    Member,
    MemberSession,
    Passkey,
    hash_of_code,
    new_recovery_codes,
)
from tidegate.member.sign_in import SignedIn, SignIn, SignInRequest

if TYPE_CHECKING:
    import webauthn
    from webauthn import helpers
    from webauthn.helpers import exceptions, structs
else:
    # 6 MB, which no payment needs.
    webauthn, helpers = LazyModule("webauthn"), LazyModule("webauthn.helpers")
    exceptions, structs = LazyModule("webauthn.helpers.exceptions"), LazyModule("webauthn.helpers.structs")

ANSWER_CHARS_MAX = 16_384
WRONG_PASSKEY = "This passkey was not accepted. Reload the page and try again, or use your password."
LAST_FACTOR = "your role needs a second factor, and this is the last one; set up another one first"


@dataclass(frozen=True)
class Passkeys:
    sign_in: SignIn
    site: PublicUrl
    # Available once the database is open.
    key: Callable[[], bytes]

    @cached_property
    def rp_id(self) -> str | None:
        """The host of our address. None where it is a number: browsers have passkeys for names only."""
        host = urlsplit(self.site.base_url).hostname or ""
        try:
            ip_address(host)
        except ValueError:
            return host
        return None

    @property
    def _scope_to_enter(self) -> str:
        return f"sign-in of the {self.sign_in.realm.name}"

    def options_to_enter(self) -> str:
        return self._request_options(self._scope_to_enter, ())

    async def options_to_show(self, member: Member, scope: str) -> str:
        known = await self.of(member) if member.has_passkey else ()
        return self._request_options(scope, known) if known else ""

    def _request_options(self, scope: str, known: Sequence[Passkey]) -> str:
        """JSON for the browser; empty where there can be no passkeys."""
        if self.rp_id is None:
            return ""
        options = webauthn.generate_authentication_options(
            rp_id=self.rp_id,
            challenge=self._new_challenge(scope),
            allow_credentials=_descriptors(known),
            user_verification=structs.UserVerificationRequirement.REQUIRED,
        )
        return webauthn.options_to_json(options)

    def creation_options(self, member: Member, scope: str, known: Sequence[Passkey]) -> str:
        if self.rp_id is None or len(known) >= PASSKEYS_MAX:
            return ""
        options = webauthn.generate_registration_options(
            rp_id=self.rp_id,
            rp_name="Tidegate",
            user_id=member.id.encode(),
            user_name=member.email,
            user_display_name=member.name,
            challenge=self._new_challenge(scope),
            exclude_credentials=_descriptors(known),
            authenticator_selection=structs.AuthenticatorSelectionCriteria(
                resident_key=structs.ResidentKeyRequirement.REQUIRED,
                user_verification=structs.UserVerificationRequirement.REQUIRED,
            ),
        )
        return webauthn.options_to_json(options)

    async def of(self, member: Member) -> list[Passkey]:
        async with self.sign_in.db.connection() as tx:
            return await passkey_store.list_of(tx, member.id)

    async def enter(self, answer: str, request: SignInRequest) -> SignedIn:
        """Signs in without a password; nothing more has to be shown."""
        async with self.sign_in.db.transaction() as tx:
            member = await self._verified(tx, answer, self._scope_to_enter, None)
            if not await self.sign_in.may_enter(tx, member):
                raise _wrong()
            return await self.sign_in.open(tx, member, request, is_complete=True)

    async def show(self, session: MemberSession, answer: str, scope: str) -> str:
        """As second factor, or as fresh proof. The new session id."""
        async with self.sign_in.db.transaction() as tx:
            await self._verified(tx, answer, scope, session.member)
            return await self.sign_in.raised(tx, session)

    async def _verified(self, tx: Tx, answer: str, scope: str, expected: Member | None) -> Member:
        now = self.sign_in.clock.now()
        with _refusals():
            given = helpers.parse_authentication_credential_json(_bounded(answer))
            asked = helpers.parse_client_data_json(given.response.client_data_json).challenge
        passkey = await passkey_store.lock(tx, given.raw_id)
        owner = await store.find(tx, passkey.person_id) if passkey else None
        is_owners = expected is None or (owner is not None and owner.id == expected.id)
        if passkey is None or owner is None or not is_owners or self.rp_id is None:
            raise _wrong()
        if await factor.are_over(tx, owner.id, now=now):
            raise _wrong()
        with _refusals():
            verified = webauthn.verify_authentication_response(
                credential=given,
                expected_challenge=await self._spent(tx, asked, scope),
                expected_rp_id=self.rp_id,
                expected_origin=self.site.origin,
                credential_public_key=passkey.public_key,
                credential_current_sign_count=passkey.sign_count,
                require_user_verification=True,
            )
        await passkey_store.note_use(tx, passkey, sign_count=verified.new_sign_count, now=now)
        await factor.keep(tx, owner, now=now)
        return owner

    async def register(self, session: MemberSession, answer: str, name: str, scope: str) -> tuple[str, list[str]]:
        """The new session id; and with the first second factor the recovery codes, which are shown once."""
        member, now = session.member, self.sign_in.clock.now()
        with _refusals():
            given = helpers.parse_registration_credential_json(_bounded(answer))
            asked = helpers.parse_client_data_json(given.response.client_data_json).challenge
        async with self.sign_in.db.transaction() as tx:
            await store.lock_factors(tx, member.id)
            if self.rp_id is None or len(await passkey_store.list_of(tx, member.id)) >= PASSKEYS_MAX:
                raise Conflict(f"a person has at most {PASSKEYS_MAX} passkeys; remove one first")
            with _refusals():
                verified = webauthn.verify_registration_response(
                    credential=given,
                    expected_challenge=await self._spent(tx, asked, scope),
                    expected_rp_id=self.rp_id,
                    expected_origin=self.site.origin,
                    require_user_verification=True,
                )
            if not await passkey_store.insert(
                tx, member.id, credential_id=verified.credential_id, public_key=verified.credential_public_key,
                sign_count=verified.sign_count, name=name_in(name), now=now,
            ):  # fmt: skip
                raise Conflict("this passkey is registered already")
            await factor.keep(tx, member, now=now)
            codes = [] if await store.count_recovery_codes(tx, member.id) else new_recovery_codes()
            if codes:
                await store.replace_recovery_codes(tx, member.id, [hash_of_code(one) for one in codes])
            await session_store.delete_others(tx, member.id, session.token_hash)
            await self.sign_in.tell(tx, member, "a passkey was added", now)
            return await self.sign_in.raised(tx, session), codes

    async def remove(self, session: MemberSession, passkey_id: int) -> None:
        member = session.member
        async with self.sign_in.db.transaction() as tx:
            factors = await store.lock_factors(tx, member.id)
            left = [one for one in await passkey_store.list_of(tx, member.id) if one.id != passkey_id]
            if not left and factors.totp_secret is None:
                await self._give_up_last(tx, member)
            if not await passkey_store.delete(tx, member.id, passkey_id):
                raise NotFound("this passkey was removed already")
            await self.sign_in.tell(tx, member, "a passkey was removed", self.sign_in.clock.now())

    async def switch_off_codes(self, session: MemberSession) -> None:
        """The codes of an app; passkeys stay."""
        member = session.member
        async with self.sign_in.db.transaction() as tx:
            await store.lock_factors(tx, member.id)
            if not await passkey_store.list_of(tx, member.id):
                await self._give_up_last(tx, member)
            await store.set_totp(tx, member.id, None, step=0)
            await self.sign_in.tell(
                tx, member, "sign-in with a code of your app was switched off", self.sign_in.clock.now()
            )

    async def _give_up_last(self, tx: Tx, member: Member) -> None:
        memberships = await session_store.list_memberships(tx, member.id)
        if member.has_password and any(one.needs_two_step for one in memberships):
            raise Conflict(LAST_FACTOR)
        await store.delete_recovery_codes(tx, member.id)

    def _new_challenge(self, scope: str) -> bytes:
        return challenge.new(self.key(), scope, now=self.sign_in.clock.now())

    async def _spent(self, tx: Tx, asked: bytes, scope: str) -> bytes:
        """Raises Invalid for a challenge that is not ours, too old, or answered before."""
        now = self.sign_in.clock.now()
        expires_at = challenge.expiry_of(asked, self.key(), scope, now=now)
        challenge_hash = hashlib.sha256(asked).digest()
        if expires_at is None or not await passkey_store.spend_challenge(
            tx, challenge_hash, expires_at=expires_at, now=now
        ):
            raise _wrong()
        return asked


def name_in(text: str) -> str:
    name = " ".join(text.split()) or "Passkey"
    if len(name) > PASSKEY_NAME_CHARS_MAX:
        raise Invalid(Problem("passkey_name", f"Enter a name of at most {PASSKEY_NAME_CHARS_MAX} characters."))
    return name


def _descriptors(known: Sequence[Passkey]) -> list[structs.PublicKeyCredentialDescriptor]:
    return [structs.PublicKeyCredentialDescriptor(id=one.credential_id) for one in known]


def _bounded(answer: str) -> str:
    if len(answer) > ANSWER_CHARS_MAX:
        raise _wrong()
    return answer


@contextmanager
def _refusals() -> Iterator[None]:
    """Whatever is wrong with an answer has one sentence. It is a stranger's text until its signature was checked."""
    try:
        yield
    except (exceptions.WebAuthnException, UnsupportedAlgorithm, ValueError, KeyError, TypeError, RecursionError):
        raise _wrong() from None


def _wrong() -> Invalid:
    return Invalid(Problem("passkey", WRONG_PASSKEY))
