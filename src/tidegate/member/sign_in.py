"""Signing in and out: password, second factor, step-up, a new password. One sentence for every failure."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from tidegate.core.clock import SystemClock
from tidegate.core.errors import Invalid, NotFound, Problem, RateLimited
from tidegate.core.ids import PLATFORM_BUSINESS_ID
from tidegate.infra.after_answer import AfterAnswer
from tidegate.infra.db import Database, Tx
from tidegate.infra.vault import Vault
from tidegate.mail import store as mail
from tidegate.member import factor, message, password, session_store, sign_in_limit, store, totp
from tidegate.member.model import (
    BROWSER_CHARS_MAX,
    FACTOR_FAILURES_MAX,
    RESET_LASTS,
    SEEN_EVERY,
    Member,
    MemberSession,
    email_in,
    hash_of_code,
    hash_of_token,
    new_recovery_codes,
    new_token,
)
from tidegate.member.password import PasswordHashing
from tidegate.member.realm import DASHBOARD, Realm
from tidegate.member.session_store import OpenSession
from tidegate.member.view_as import VIEW

WRONG = "This e-mail address and password do not belong together."
WRONG_CODE = "This code is wrong, was used before, or is too old. Enter the newest one."
NO_LINK = "this link was used before, or is too old; ask for a new one"
DEVICES_MAX = 20
RESET = "reset"

MayEnter = Callable[[Tx, Member], Awaitable[bool]]


async def allow_all(_tx: Tx, _member: Member) -> bool:
    return True


@dataclass(frozen=True)
class SignInRequest:
    """The address and browser of a sign-in."""

    browser: str
    address: str
    # The cookie of a browser that has signed in before.
    device: str | None = None


@dataclass(frozen=True)
class SignedIn:
    """The new cookies."""

    member: Member
    token: str = field(repr=False)
    device: str = field(repr=False)


@dataclass(frozen=True)
class SignIn:
    db: Database
    vault: Vault
    # Where links in mail lead to.
    base_url: str
    hashing: PasswordHashing = field(default_factory=PasswordHashing)
    # The real one: moving a sandbox's clock ends no session.
    clock: SystemClock = field(default_factory=SystemClock)
    realm: Realm = DASHBOARD
    later: AfterAnswer = field(default_factory=AfterAnswer)
    # Who has no business here is refused with the same words as a wrong password.
    may_enter: MayEnter = allow_all

    async def with_password(self, email: str, given: str, request: SignInRequest) -> SignedIn:
        try:
            email = email_in(email)
        except Invalid:
            email = ""
        device_hash = hash_of_token(request.device) if request.device else None
        async with self.db.connection() as tx:
            found = await store.find_by_email(tx, email)
            is_let_in = found is not None and await self.may_enter(tx, found[0])
            is_known = device_hash is not None and await store.is_known_device(tx, email, device_hash)
        subject = (
            sign_in_limit.DEVICE.of(device_hash.hex()) if device_hash and is_known else sign_in_limit.ACCOUNT.of(email)
        )
        await sign_in_limit.take(self.db, [subject, *sign_in_limit.of_address(request.address)], now=self.clock.now())
        kept = found[1].password_hash if found and is_let_in else None
        if not await self.hashing.verify(kept, given) or found is None or kept is None:
            raise Invalid(Problem("password", WRONG))
        await sign_in_limit.forget(self.db, subject)
        if password.needs_rehash(kept):
            async with self.db.connection() as tx:
                await store.set_password(tx, found[0].id, await self.hashing.hash(given))
        async with self.db.transaction() as tx:
            member = await factor.drop_due(tx, found[0], now=self.clock.now())
            return await self.open(tx, member, request)

    async def open(
        self, tx: Tx, member: Member, request: SignInRequest, *, is_complete: bool = False, viewed: str | None = None
    ) -> SignedIn:
        """A new session; complete where nothing more has to be shown."""
        now, token = self.clock.now(), new_token()
        device = request.device if request.device and hash_of_token(request.device) else new_token()
        await session_store.insert(
            tx, _hash(token), member, is_complete=is_complete, browser=request.browser[:BROWSER_CHARS_MAX],
            address=request.address, now=now, realm=self.realm,
            viewed_business=viewed,
        )  # fmt: skip
        await store.note_device(tx, member.id, _hash(device), devices_max=DEVICES_MAX, now=now)
        return SignedIn(member, token, device)

    async def find(self, token: str | None, business_code: str | None) -> OpenSession | None:
        """None without a valid session. Notes the visit."""
        token_hash = hash_of_token(token) if token else None
        if token_hash is None:
            return None
        now = self.clock.now()
        async with self.db.connection() as tx:
            found = await session_store.find(tx, token_hash, business_code, realm=self.realm)
            if found is None:
                return None
            if found.session.is_over(self.realm, now):
                await session_store.delete(tx, token_hash)
                return None
        if now - found.session.seen_at >= SEEN_EVERY:
            # After the answer, which would wait for the disk.
            await self.later.add(partial(self._note_seen, token_hash, now))
        return found

    async def _note_seen(self, token_hash: bytes, now: datetime) -> None:
        async with self.db.connection() as tx:
            await session_store.note_seen(tx, token_hash, before=now - SEEN_EVERY, now=now)

    async def second_factor(self, session: MemberSession, code: str) -> str:
        """The new session id. After a few wrong ones it begins from the password again, and ever slower."""
        subject = sign_in_limit.FACTOR.of(session.member.id)
        await sign_in_limit.take(self.db, [subject], now=self.clock.now())
        async with self.db.transaction() as tx:
            token = await self.raised(tx, session) if await self._is_right_code(tx, session.member, code) else None
        if token is not None:
            await sign_in_limit.forget(self.db, subject)
            return token
        await self._count_wrong(session)
        raise Invalid(Problem("code", WRONG_CODE))

    async def step_up(self, session: MemberSession, given: str) -> str:
        """The new session id."""
        await self.confirm(session.member, given)
        async with self.db.transaction() as tx:
            return await self.raised(tx, session)

    async def confirm(self, member: Member, given: str) -> None:
        """By the password or a code. Raises Invalid. Codes are guessed no faster than passwords."""
        subject = sign_in_limit.STEP_UP.of(member.id)
        await sign_in_limit.take(self.db, [subject], now=self.clock.now())
        async with self.db.transaction() as tx:
            is_right = member.has_second_factor and await self._is_right_code(tx, member, given)
        if not is_right and not await self._is_password(member, given):
            raise Invalid(Problem("factor", "That is neither your password nor a valid code."))
        await sign_in_limit.forget(self.db, subject)

    async def confirm_password(self, member: Member, given: str) -> None:
        """Raises Invalid."""
        subject = sign_in_limit.STEP_UP.of(member.id)
        await sign_in_limit.take(self.db, [subject], now=self.clock.now())
        if not await self._is_password(member, given):
            raise Invalid(Problem("old", "That is not your password."))
        await sign_in_limit.forget(self.db, subject)

    async def _is_password(self, member: Member, given: str) -> bool:
        async with self.db.connection() as tx:
            found = await store.find_by_email(tx, member.email)
        return found is not None and await self.hashing.verify(found[1].password_hash, given)

    async def step_up_in_sandbox(self, session: MemberSession) -> str:
        """The sandbox's own people have no factor to show."""
        if not session.member.is_of_sandbox:
            raise Invalid(Problem("factor", "Enter your password or a code."))
        async with self.db.transaction() as tx:
            return await self.raised(tx, session)

    async def raised(self, tx: Tx, session: MemberSession) -> str:
        """The new session id, after a factor was shown."""
        token = new_token()
        if not await session_store.step_up(tx, session.token_hash, _hash(token), now=self.clock.now()):
            raise NotFound("you are signed out; sign in again")
        return token

    async def _count_wrong(self, session: MemberSession) -> None:
        async with self.db.connection() as tx:
            if await session_store.count_failure(tx, session.token_hash) >= FACTOR_FAILURES_MAX:
                await session_store.delete(tx, session.token_hash)

    async def _is_right_code(self, tx: Tx, member: Member, code: str) -> bool:
        now = self.clock.now()
        factors = await store.lock_factors(tx, member.id)
        if await factor.are_over(tx, member.id, now=now):
            return False
        # First, so that they work when the secret cannot be opened any more.
        if await store.use_recovery_code(tx, member.id, hash_of_code(code), now=now):
            left = await store.count_recovery_codes(tx, member.id)
            await self.tell(tx, member, f"a recovery code was used; {left} are left", now)
            await factor.keep(tx, member, now=now)
            return True
        if factors.totp_secret is None:
            return False
        secret = self.vault.open(factors.totp_secret, owner=member.id)
        step = totp.step_of(secret, code, after_step=factors.totp_step, now=now)
        if step is not None:
            await store.set_totp_step(tx, member.id, step)
            await factor.keep(tx, member, now=now)
        return step is not None

    async def new_totp(self, session: MemberSession) -> str:
        """A fresh secret for each enrolment, kept with the session until its first code is shown."""
        secret = totp.new_secret()
        sealed = self.vault.seal(secret, owner=session.member.id)
        async with self.db.connection() as tx:
            await session_store.set_pending_secret(tx, session.token_hash, sealed)
        return secret

    async def pending_totp(self, session: MemberSession) -> str | None:
        async with self.db.connection() as tx:
            sealed = await session_store.find_pending_secret(tx, session.token_hash)
        return self.vault.open(sealed, owner=session.member.id) if sealed else None

    async def confirm_totp(self, session: MemberSession, code: str) -> tuple[str, list[str]]:
        """The new session id, and the recovery codes, which are shown once. Other sessions end."""
        secret, now = await self.pending_totp(session), self.clock.now()
        step = totp.step_of(secret, code, after_step=0, now=now) if secret else None
        if secret is None or step is None:
            raise Invalid(Problem("code", WRONG_CODE))
        codes = new_recovery_codes()
        async with self.db.transaction() as tx:
            await store.set_totp(tx, session.member.id, self.vault.seal(secret, owner=session.member.id), step=step)
            await store.replace_recovery_codes(tx, session.member.id, [hash_of_code(one) for one in codes])
            await session_store.delete_others(tx, session.member.id, session.token_hash)
            await factor.keep(tx, session.member, now=now)
            await self.tell(tx, session.member, "sign-in with a code of your app was switched on", now)
            return await self.raised(tx, session), codes

    async def sign_out(self, token: str) -> None:
        token_hash = hash_of_token(token)
        if token_hash is not None:
            async with self.db.connection() as tx:
                await session_store.delete(tx, token_hash)

    async def change_password(self, session: MemberSession, new: str) -> None:
        member = session.member
        password_hash = await self.hashing.hash(password.checked(new, words=[member.email, member.name]))
        async with self.db.transaction() as tx:
            await store.set_password(tx, member.id, password_hash)
            await session_store.delete_others(tx, member.id, session.token_hash)
            await self.tell(tx, member, "your password was changed", self.clock.now())

    async def ask_for_reset(self, email: str) -> None:
        """The same work and the same answer for every address, known or not: only a known one has something to write,
        which would be seen in the time, so that is done after the answer."""
        email = email_in(email)
        try:
            await sign_in_limit.take(self.db, [sign_in_limit.RESET.of(email)], now=self.clock.now())
        except RateLimited:
            return  # The page is the same whether or not the address is known.
        await self.later.add(partial(self._send_reset, email))

    async def _send_reset(self, email: str) -> None:
        now, token = self.clock.now(), new_token()
        async with self.db.transaction() as tx:
            member = await store.insert_link(
                tx, email, purpose=RESET, token_hash=_hash(token), expires_at=now + RESET_LASTS, now=now
            )
            if member is not None:
                letter = message.reset(email, url=f"{self.base_url}{self.realm.path}/reset/{token}")
                await mail.insert(tx, PLATFORM_BUSINESS_ID, letter, now=now)

    async def find_link(self, token: str, purpose: str) -> Member:
        """Raises NotFound. Looking spends nothing."""
        token_hash = hash_of_token(token)
        found = None
        if token_hash is not None:
            async with self.db.connection() as tx:
                found = await store.find_link(tx, token_hash, purpose=purpose, now=self.clock.now())
        if found is None:
            raise NotFound(NO_LINK)
        return found

    async def reset_password(self, token: str, new: str) -> None:
        """Does not sign in; all sessions end."""
        member = await self.find_link(token, RESET)
        password_hash = await self.hashing.hash(password.checked(new, words=[member.email, member.name]))
        async with self.db.transaction() as tx:
            if await store.spend_link(tx, _hash(token), purpose=RESET, now=self.clock.now()) is None:
                raise NotFound(NO_LINK)
            await store.set_password(tx, member.id, password_hash)
            await session_store.delete_others(tx, member.id, None)
            await self.tell(tx, member, "your password was changed", self.clock.now())

    async def enter(self, token: str, request: SignInRequest) -> SignedIn:
        member = await self.find_link(token, self.realm.enter)
        async with self.db.transaction() as tx:
            if await store.spend_link(tx, _hash(token), purpose=self.realm.enter, now=self.clock.now()) is None:
                raise NotFound(NO_LINK)
            return await self.open(tx, member, request, is_complete=True)

    async def view(self, token: str, request: SignInRequest) -> SignedIn:
        """A session of the staff that looks at one business."""
        member = await self.find_link(token, VIEW)
        async with self.db.transaction() as tx:
            business_id = await store.find_viewed(tx, _hash(token))
            if await store.spend_link(tx, _hash(token), purpose=VIEW, now=self.clock.now()) is None:
                raise NotFound(NO_LINK)
            return await self.open(tx, member, request, is_complete=True, viewed=business_id)

    async def tell(self, tx: Tx, member: Member, what: str, now: datetime) -> None:
        await mail.insert(tx, PLATFORM_BUSINESS_ID, message.changed(member.email, what=what), now=now)


def _hash(token: str) -> bytes:
    found = hash_of_token(token)
    assert found is not None
    return found
