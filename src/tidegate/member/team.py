"""The team of a business: invitations, roles, who leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from tidegate.audit import model as audit_model
from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core import ids
from tidegate.core.clock import SystemClock
from tidegate.core.errors import AccessDenied, Conflict, Invalid, NotFound, Problem
from tidegate.infra.db import Database, Tx
from tidegate.infra.same_transaction import InSameTransaction, nothing_else
from tidegate.mail import store as mail
from tidegate.member import factor, message, password, session_store, store, team_store
from tidegate.member.model import (
    INVITATION_LASTS,
    Invitation,
    Member,
    Membership,
    TeamMember,
    email_in,
    hash_of_token,
    name_in,
    new_token,
)
from tidegate.member.permission import Role, roles_given_by
from tidegate.member.sign_in import WRONG, SignedIn, SignIn, SignInRequest
from tidegate.member.team_store import InvitedTo
from tidegate.merchant import store as merchants

TEAM_MAX = 200
NO_MEMBER = "no member of this team has this id"
NO_INVITATION = "this invitation was used or withdrawn, or is too old; ask for a new one"


@dataclass(frozen=True)
class Team:
    """Every change is made by a member (`by`), and at most with their own role."""

    db: Database
    sign_in: SignIn
    clock: SystemClock = field(default_factory=SystemClock)

    async def list_all(self, business_id: str) -> tuple[list[TeamMember], list[Invitation]]:
        async with self.db.connection() as tx:
            return await team_store.list_team(tx, business_id), await team_store.list_invitations(tx, business_id)

    async def invite(self, by: Member, at: Membership, email: str, role: str, *, origin: str) -> str:
        """The link, for where no mail is sent. The same for an address that is known and one that is not."""
        email, wanted = invitation_in(at, email, role)
        now, token = self.clock.now(), new_token()
        token_hash = hash_of_token(token)
        assert token_hash is not None
        url = f"{self.sign_in.base_url}/dashboard/invitation/{token}"
        async with self.db.transaction() as tx:
            members = await team_store.lock(tx, at.business_id)
            if len(members) >= TEAM_MAX:
                raise Conflict(f"a team has at most {TEAM_MAX} people; remove a member first")
            await team_store.insert_invitation(
                tx, at.business_id, email, wanted, token_hash=token_hash, by=by.id, now=now,
                expires_at=now + INVITATION_LASTS,
            )  # fmt: skip
            letter = message.invitation(email, business=at.business_name, inviter=by.name, role=wanted, url=url)
            await mail.insert(tx, at.business_id, letter, now=now)
            await self._note(tx, at, _by(by, origin), "team.invited", subject=email, role=wanted)
        return url

    async def withdraw(self, by: Member, at: Membership, invitation_id: int, *, origin: str) -> None:
        async with self.db.transaction() as tx:
            found = await _open_invitation(tx, at, invitation_id)
            await team_store.end_invitation(tx, found, "withdrawn")
            await self._note(tx, at, _by(by, origin), "team.withdrawn", subject=found.email, role=found.role)

    async def invited(self, at: Membership, invitation_id: int) -> Invitation:
        """An open one that a member of this role may withdraw. Raises NotFound, AccessDenied."""
        async with self.db.connection() as tx:
            return await _open_invitation(tx, at, invitation_id)

    async def look_at(self, token: str) -> tuple[InvitedTo, bool]:
        """The invitation, and whether its address has a password. Looking spends nothing."""
        token_hash = hash_of_token(token)
        async with self.db.connection() as tx:
            found = await team_store.find_by_token(tx, token_hash) if token_hash else None
            if found is None or not found.invitation.is_usable(self.clock.now()):
                raise NotFound(NO_INVITATION)
            known = await store.find_by_email(tx, found.invitation.email)
        return found, known is not None and known[0].has_password

    async def accept(self, token: str, name: str, given: str, request: SignInRequest) -> tuple[SignedIn, str]:
        """Signs in, and says at which business. Who has a password gives it; who has none chooses one."""
        invited, is_known = await self.look_at(token)
        email = invited.invitation.email
        if is_known:
            signed_in = await self.sign_in.with_password(email, given, request)
            async with self.db.transaction() as tx:
                await self._join(tx, invited, signed_in.member, request)
            return signed_in, invited.business_code
        name = _checked(name, given, words=[email, invited.business_name])
        password_hash = await self.sign_in.hashing.hash(given)
        async with self.db.transaction() as tx:
            member = await store.insert_person(
                tx, person_id=ids.new_person_id(), email=email, name=name, password_hash=password_hash,
                now=self.clock.now(),
            )  # fmt: skip
            if member is None:
                raise Invalid(Problem("password", WRONG))
            await self._join(tx, invited, member, request)
            return await self.sign_in.open(tx, member, request), invited.business_code

    async def _join(self, tx: Tx, invited: InvitedTo, member: Member, request: SignInRequest) -> None:
        invitation = invited.invitation
        if not await team_store.end_invitation(tx, invitation, "accepted"):
            raise NotFound(NO_INVITATION)
        await team_store.put(tx, invitation.business_id, member.id, invitation.role, now=self.clock.now())
        at = Membership(
            business_id=invitation.business_id, business_code=invited.business_code,
            business_name=invited.business_name, role=invitation.role,
        )  # fmt: skip
        await self._note(
            tx, at, _by(member, request.address), "team.joined", subject=member.email, role=invitation.role
        )

    async def change_role(self, by: Member, at: Membership, person_id: str, role: str, *, origin: str) -> None:
        wanted = role_in(role)
        async with self.db.transaction() as tx:
            before = _refuse_change(at.role, await team_store.lock(tx, at.business_id), person_id, wanted)
            await team_store.put(tx, at.business_id, person_id, wanted, now=self.clock.now())
            # The next click asks to sign in, with the new role.
            await session_store.delete_others(tx, person_id, None)
            await self._note(tx, at, _by(by, origin), "team.role", subject=person_id, role=[before, wanted])

    async def remove(self, by: Member, at: Membership, person_id: str, *, origin: str) -> None:
        async with self.db.transaction() as tx:
            before = _refuse_change(at.role, await team_store.lock(tx, at.business_id), person_id, None)
            await team_store.remove(tx, at.business_id, person_id)
            await session_store.delete_others(tx, person_id, None)
            await self._note(tx, at, _by(by, origin), "team.removed", subject=person_id, role=before)

    async def changeable(self, at: Membership, person_id: str, wanted: Role | None) -> Member:
        """Who would get this role, or leave without one. Raises what the change would be refused with as it is now:
        NotFound, AccessDenied, Conflict. Locks nothing."""
        async with self.db.connection() as tx:
            team = {one.member.id: one for one in await team_store.list_team(tx, at.business_id)}
        _refuse_change(at.role, [(one.member.id, one.role) for one in team.values()], person_id, wanted)
        return team[person_id].member

    async def resettable(self, at: Membership, person_id: str) -> Member:
        """Whose factors would be reset. Raises NotFound, Conflict. Locks nothing."""
        async with self.db.connection() as tx:
            found = {one.member.id: one for one in await team_store.list_team(tx, at.business_id)}.get(person_id)
            if found is None:
                raise NotFound(NO_MEMBER)
            await _refuse_reset(tx, person_id, found.role, has_factor=found.member.has_second_factor)
        return found.member

    async def reset_factors(self, by: Member, at: Membership, person_id: str, *, origin: str) -> None:
        """For a member who has lost passkeys, app and recovery codes: the password stays, and mail tells them."""
        async with self.db.transaction() as tx:
            role = _role_of(await team_store.lock(tx, at.business_id), person_id)
            member = await factor.drop(tx, person_id)
            await _refuse_reset(tx, person_id, role, has_factor=member.has_second_factor)
            letter = message.factors_reset(member.email, by=f"{by.name} of {at.business_name}")
            await mail.insert(tx, at.business_id, letter, now=self.clock.now())
            await self._note(tx, at, _by(by, origin), "team.factors_reset", subject=person_id, role=role)

    async def _note(
        self, tx: Tx, at: Membership, by: Actor, action: str, *, subject: str, role: Role | list[Role]
    ) -> None:
        now = self.clock.now()
        await audit.insert(tx, at.business_id, by, action=action, subject=subject, details={"role": role}, now=now)


def _by(member: Member, origin: str) -> Actor:
    return audit_model.person(member.id, origin)


def _role_of(members: list[tuple[str, Role]], person_id: str) -> Role:
    role = dict(members).get(person_id)
    if role is None:
        raise NotFound(NO_MEMBER)
    return role


def _refuse_change(own: Role, members: list[tuple[str, Role]], person_id: str, wanted: Role | None) -> Role:
    """The role that the person has before. None is wanted of one who is removed."""
    before = _role_of(members, person_id)
    _refuse_above(own, before)
    if wanted is not None:
        _refuse_above(own, wanted)
    if wanted is not Role.OWNER and [one for one, role in members if role is Role.OWNER] == [person_id]:
        raise Conflict("this is the only owner; make another member owner first")
    return before


async def _refuse_reset(tx: Tx, person_id: str, role: Role, *, has_factor: bool) -> None:
    if role is Role.OWNER:
        raise Conflict("an owner's second factors are reset by the operator, not by another owner")
    if len(await session_store.list_memberships(tx, person_id)) > 1:
        raise Conflict("this person belongs to another business too; the operator can reset their factors")
    if not has_factor:
        raise Conflict("this person has no second factor")


async def _open_invitation(tx: Tx, at: Membership, invitation_id: int) -> Invitation:
    found = await team_store.find_invitation(tx, at.business_id, invitation_id)
    if found is None:
        raise NotFound(NO_INVITATION)
    _refuse_above(at.role, found.role)
    return found


def _checked(name: str, given: str, *, words: list[str]) -> str:
    """The name. Raises Invalid, with all that is wrong with it and with the password."""
    problems: list[Problem] = []
    try:
        name = name_in(name)
    except Invalid as wrong:
        problems += wrong.problems
    try:
        password.checked(given, words=[*words, name])
    except Invalid as wrong:
        problems += wrong.problems
    if problems:
        raise Invalid(*problems)
    return name


def invitation_in(at: Membership, email: str, role: str) -> tuple[str, Role]:
    """The address, and a role that a member of this one may give. Raises Invalid, AccessDenied."""
    address, wanted = email_in(email), role_in(role)
    _refuse_above(at.role, wanted)
    return address, wanted


def role_in(text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        raise Invalid(Problem("role", f"Choose one of {', '.join(Role)}.")) from None


def _refuse_above(own: Role, wanted: Role) -> None:
    if wanted not in roles_given_by(own):
        raise AccessDenied(f"as {own.value} you cannot give, change or take the role {wanted.value}")


async def invite_owner(
    db: Database, base_url: str, business_id: str, email: str, *, by: Actor = audit_model.OPERATOR,
    also: InSameTransaction = nothing_else,
) -> str:  # fmt: skip
    """By the operator: how a business gets its first person."""
    email, now, token = email_in(email), SystemClock().now(), new_token()
    token_hash = hash_of_token(token)
    assert token_hash is not None
    url = f"{base_url}/dashboard/invitation/{token}"
    async with db.transaction() as tx:
        await also(tx)
        business = await merchants.find_business(tx, business_id)
        if business is None:
            raise NotFound(f"there is no business {business_id}; `tidegate merchant list` shows them")
        await team_store.insert_invitation(
            tx, business_id, email, Role.OWNER, token_hash=token_hash, by="operator", now=now,
            expires_at=now + INVITATION_LASTS,
        )  # fmt: skip
        letter = message.invitation(email, business=business.name, inviter="Tidegate", role=Role.OWNER, url=url)
        await mail.insert(tx, business_id, letter, now=now)
        await audit.insert(
            tx, business_id, by, action="team.invited", subject=email,
            details={"role": Role.OWNER}, now=now,
        )  # fmt: skip
    return url


async def reset_factors_of(
    db: Database, email: str, *, by: Actor = audit_model.OPERATOR, also: InSameTransaction = nothing_else
) -> datetime:
    """By the operator: of any member, also of an owner. They end a day later, and mail tells at once. The audit log
    of each of their businesses tells.
    """
    email, now = email_in(email), SystemClock().now()
    async with db.transaction() as tx:
        await also(tx)
        found = await store.find_by_email(tx, email)
        if found is None:
            raise NotFound(f"no person signs in with {email}")
        person_id = found[0].id
        if not found[0].has_second_factor:
            raise Conflict(f"{email} has no second factor; nothing is to be removed")
        at = now + factor.WAIT
        await store.set_factors_end(tx, person_id, at)
        await mail.insert(tx, ids.PLATFORM_BUSINESS_ID, message.factors_end(email, at=at), now=now)
        for one in await session_store.list_memberships(tx, person_id):
            await audit.insert(
                tx, one.business_id, by, action="team.factors_end", subject=person_id,
                details={"role": one.role}, now=now,
            )  # fmt: skip
    return at
