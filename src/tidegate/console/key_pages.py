"""A merchant's keys: made and rolled by four eyes, revoked by one person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import msgspec

from tidegate.approval import store as approval_store
from tidegate.console.accounts import reason_in
from tidegate.console.proposing import proposal_in, show_proposals
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, NotFound, Problem, Refusal
from tidegate.core.ids import new_secret_key
from tidegate.dashboard.key_form import OVERLAPS, key_request_in, limits_of, state_of
from tidegate.dashboard.paging import number_in
from tidegate.dashboard.settings_pages import REFUNDED
from tidegate.infra.db import Tx
from tidegate.infra.page.response import Html
from tidegate.merchant import commands
from tidegate.merchant.key_terms import terms_of
from tidegate.merchant.model import KeyScope, print_of
from tidegate.sandbox.seed import keep_proposed_key
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import commands as staff_approvals
from tidegate.staff_approval.arguments import KeyArguments, RollArguments, subject_of_roll

OF_KEYS = ("merchant.key", "merchant.roll")


@dataclass(frozen=True)
class MerchantKeyPages:
    shell: ConsoleShell

    async def show(self, visitor: ConsoleVisitor) -> Html:
        return await self._page(visitor)

    async def _page(self, visitor: ConsoleVisitor, wrong: Refusal | None = None, *, secret: str = "") -> Html:
        business = await commands.get(self.shell.db, visitor.request.path["business"])
        now = self.shell.clock.now_of(business.id)
        async with self.shell.db.connection() as tx:
            version = await staff_approvals.version_of(tx, "merchant.key", business.id, "")
            found = [one for one in await approval_store.list_of_business(tx, business.id) if one.command in OF_KEYS]
            proposed = await show_proposals(self.shell, visitor, tx, found)
        keys = await commands.keys_of(self.shell.db, business.id)
        return self.shell.page(
            visitor, "merchant_keys.html", title=f"Keys of {business.name}", section="Merchants", business=business,
            keys=[(key, state_of(key, now, visitor.times), limits_of(key), key.is_valid_at(now)) for key in keys],
            version=version, proposed=proposed, wrong=wrong, secret=secret, overlaps=OVERLAPS, scopes=list(KeyScope),
            currencies=[one.value for one in REFUNDED],
            status=200 if wrong is None else 422 if isinstance(wrong, Invalid) else 409,
        )  # fmt: skip

    async def make(self, visitor: ConsoleVisitor) -> Html:
        """The key is in this answer alone, and works once it is approved."""
        business_id, secret = visitor.request.path["business"], new_secret_key(self.shell.mode)
        now = self.shell.clock.now_of(business_id)
        try:
            request = key_request_in(visitor.form, now=now)
            terms_of(request, now=now)
        except Invalid as wrong:
            return await self._page(visitor, wrong)
        wanted = KeyArguments(request=request, secret=print_of(secret))
        return await self._proposed(visitor, "merchant.key", request.name, wanted, secret)

    async def roll(self, visitor: ConsoleVisitor) -> Html:
        business_id, secret = visitor.request.path["business"], new_secret_key(self.shell.mode)
        number, days = number_in(visitor.form.get("key", "")), visitor.form.get("overlap", "")
        keys = {one.id: one for one in await commands.keys_of(self.shell.db, business_id)}
        if number not in keys:
            raise NotFound("this merchant has no such key")
        if days not in OVERLAPS:
            return await self._page(visitor, Invalid(Problem("overlap", "Choose how long the old key still works.")))
        # Those with all rights are replaced together, as on the command line.
        key_id = None if keys[number].scopes is None else number
        overlap_s = int(timedelta(days=int(days)).total_seconds())
        wanted = RollArguments(secret=print_of(secret), overlap_s=overlap_s, key_id=key_id)
        return await self._proposed(visitor, "merchant.roll", subject_of_roll(key_id), wanted, secret)

    async def _proposed(
        self, visitor: ConsoleVisitor, command: str, subject: str, arguments: msgspec.Struct, secret: str
    ) -> Html:
        """A reload of the answer proposes nothing again, and does not show the key again."""
        business_id = visitor.request.path["business"]
        try:
            proposal = await proposal_in(self.shell, visitor, command, business_id, subject, arguments=arguments)

            async def act(tx: Tx) -> int:
                return await staff_approvals.propose(tx, proposal, by=visitor.by, now=visitor.now)

            below = f"/merchants/{business_id}/keys"
            number = await self.shell.first_time(visitor, below, act)
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self._page(visitor, wrong)
        if number is None:
            return self.shell.to(below)
        if subject == subject_of_roll(None):
            keep_proposed_key(self.shell.approvals.sandbox_file, business_id, secret)
        return await self._page(visitor, secret=secret)

    async def revoke(self, visitor: ConsoleVisitor) -> Html:
        """Stops what the key does, so one person does it."""
        business_id, number = visitor.request.path["business"], number_in(visitor.form.get("key", ""))
        if number is None:
            raise NotFound("this merchant has no such key")
        try:
            why = reason_in(visitor)
        except Invalid as wrong:
            return await self._page(visitor, wrong)
        await commands.revoke_key(self.shell.db, business_id, number, by=visitor.by, now=visitor.now, why=why)
        return self.shell.to(f"/merchants/{business_id}/keys?said=done")

    async def confirms_revocation(self, visitor: ConsoleVisitor) -> str:
        return f"Revoke a key of {(await commands.get(self.shell.db, visitor.request.path['business'])).name}"

    def routes(self) -> list[ConsoleRoute]:
        at = "/merchants/{business}/keys"
        return [
            ConsoleRoute("GET", at, "showMerchantKeys", StaffPermission.SEE, self.show),
            ConsoleRoute("POST", at, "proposeKey", StaffPermission.PROPOSE, self.make),
            ConsoleRoute("POST", f"{at}/roll", "proposeRoll", StaffPermission.PROPOSE, self.roll),
            ConsoleRoute(
                "POST", f"{at}/revoke", "revokeMerchantKey", StaffPermission.SUSPEND, self.revoke,
                confirms=self.confirms_revocation,
            ),
        ]  # fmt: skip
