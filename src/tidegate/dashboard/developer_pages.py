"""API keys, and the log of requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from tidegate.audit.model import OPERATOR
from tidegate.core.errors import AccessDenied, Conflict, Invalid, NotFound, Problem, Refusal
from tidegate.dashboard import equivalent_command, key_store
from tidegate.dashboard.audit_words import who_of
from tidegate.dashboard.key_form import OVERLAPS, key_request_in, limits_of, scopes_in, state_of
from tidegate.dashboard.key_store import KeyMaker
from tidegate.dashboard.list_filter import faults_in
from tidegate.dashboard.paging import number_in
from tidegate.dashboard.settings_pages import REFUNDED
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.infra.db import Tx
from tidegate.infra.http import error_guide
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.merchant import commands as merchants
from tidegate.merchant.commands import NewKey
from tidegate.merchant.key_terms import KeyTerms, terms_of
from tidegate.merchant.model import ApiKey, KeyScope
from tidegate.request_log import commands as requests
from tidegate.request_log import store as request_store
from tidegate.request_log.store import RequestFilter
from tidegate.sandbox.seed import keep_rolled_key

PAGE = 50
# What to do about each error, as the documentation says it.
REMEDIES = {name: guide.remedy for name, guide in error_guide.error_types()}


@dataclass(frozen=True)
class DeveloperPages:
    shell: DashboardShell
    # With the keys of the sandbox's business.
    sandbox_file: Path

    async def show_keys(self, visitor: DashboardVisitor) -> Html:
        return await self._keys_page(visitor)

    async def _keys_page(self, visitor: DashboardVisitor, wrong: Refusal | None = None, secret: str = "") -> Html:
        keys = await merchants.keys_of(self.shell.db, visitor.business.id)
        async with self.shell.db.connection() as tx:
            makers = await key_store.list_makers(tx, visitor.business.id)
        return self.shell.page(
            visitor, "keys.html", title="API keys", section="API keys", wrong=wrong, status=422 if wrong else 200,
            keys=[
                (key, state_of(key, visitor.now, visitor.times), _maker(makers.get(key.id)), limits_of(key))
                for key in reversed(keys)
            ],
            may_change={key.id: _may_change(key, visitor) for key in keys},
            scopes=list(KeyScope), secret=secret, overlaps=OVERLAPS, currencies=[one.value for one in REFUNDED],
        )  # fmt: skip

    async def check_new_key(self, visitor: DashboardVisitor) -> Html | None:
        try:
            key_terms_in(visitor)
        except Invalid as wrong:
            return await self._keys_page(visitor, wrong)
        return None

    async def confirms_new_key(self, visitor: DashboardVisitor) -> str:
        return f"Make the key “{visitor.form.get('name', '').strip()}”"

    async def make_key(self, visitor: DashboardVisitor) -> Html:
        """The key is in this answer alone."""
        try:
            terms = key_terms_in(visitor)
        except Invalid as wrong:
            return await self._keys_page(visitor, wrong)

        async def act(tx: Tx) -> NewKey:
            return await merchants.make_key(
                tx, visitor.business.id, terms, mode=self.shell.mode, by=visitor.by, now=visitor.now
            )

        return await self._shown_once(visitor, act)

    async def _shown_once(self, visitor: DashboardVisitor, act: Callable[[Tx], Awaitable[NewKey]]) -> Html:
        """A reload of the answer makes no second key, and does not show the first one again."""
        made = await self.shell.first_time(visitor, "/keys", act)
        if made is not None and made.key.scopes is None:
            keep_rolled_key(self.sandbox_file, visitor.business.id, made.secret)
        return self.shell.to(visitor, "/keys") if made is None else await self._keys_page(visitor, secret=made.secret)

    async def _key(self, visitor: DashboardVisitor) -> ApiKey:
        """One that this person may change."""
        key_id, business_id = number_in(visitor.request.path["key"]), visitor.business.id
        key = next((one for one in await merchants.keys_of(self.shell.db, business_id) if one.id == key_id), None)
        if key is None:
            raise NotFound("there is nothing at this address")
        if not _may_change(key, visitor):
            raise AccessDenied("only an owner or admin can change a key that refunds")
        return key

    async def check_key(self, visitor: DashboardVisitor) -> Html | None:
        await self._key(visitor)
        return await self._refused_overlap(visitor)

    async def confirms_key(self, visitor: DashboardVisitor) -> str:
        key = await self._key(visitor)
        act = "Revoke" if visitor.form.get("what") == "revoke" else "Roll"
        return f"{act} the key {f'“{key.name}” ' if key.name else ''}··{key.last_four}"

    async def _refused_overlap(self, visitor: DashboardVisitor) -> Html | None:
        if visitor.form.get("what") == "revoke" or visitor.form.get("overlap") in OVERLAPS:
            return None
        return await self._keys_page(visitor, Invalid(Problem("overlap", "Choose how long the old key still works.")))

    async def change_key(self, visitor: DashboardVisitor) -> Html:
        """Roll or revoke."""
        key_id, business_id = (await self._key(visitor)).id, visitor.business.id
        if (refused := await self._refused_overlap(visitor)) is not None:
            return refused
        if visitor.form.get("what") == "revoke":
            await merchants.revoke_key(self.shell.db, business_id, key_id, by=visitor.by, now=visitor.now)
            return self.shell.to(visitor, "/keys")
        days = visitor.form["overlap"]

        async def act(tx: Tx) -> NewKey:
            return await merchants.roll_key(
                tx, business_id, key_id, overlap=timedelta(days=int(days)), mode=self.shell.mode, by=visitor.by,
                now=visitor.now,
            )  # fmt: skip

        try:
            return await self._shown_once(visitor, act)
        except (Invalid, Conflict) as wrong:
            return await self._keys_page(visitor, wrong)

    async def show_requests(self, visitor: DashboardVisitor) -> Html:
        query = visitor.request.query
        is_error = True if query.get("only") == "errors" else None
        before = number_in(query.get("before", ""))
        problems = [*faults_in(query, ("only",))]
        if query.get("only") and not is_error:
            problems.append(Problem("", "Choose all requests, or errors only."))
        wrong = Invalid(*problems) if problems else None
        async with self.shell.db.connection() as tx:
            found = await request_store.list_page(
                tx, visitor.business.id, RequestFilter(is_error=is_error), before=before, limit=0 if wrong else PAGE + 1
            )
        groups = await requests.list_groups(self.shell.db, visitor.business.id, now=self.shell.clock.now())
        kept = "only=errors&" if is_error else ""
        older = f"{visitor.path('/developers')}?{kept}before={found[PAGE - 1].number}" if len(found) > PAGE else None
        return self.shell.page(
            visitor, "developers.html", title="Developers", section="Developers", groups=groups[:20],
            requests=found[:PAGE], older=older, only_errors=bool(is_error), wrong=wrong, status=422 if wrong else 200,
            remedies=REMEDIES, code=equivalent_command.requests(self.shell.site.base_url),
        )  # fmt: skip

    def routes(self) -> list[DashboardRoute]:
        return [
            DashboardRoute("GET", "/keys", "showKeys", Permission.KEYS, self.show_keys),
            DashboardRoute(
                "POST", "/keys", "makeKey", Permission.KEYS, self.make_key, check=self.check_new_key,
                confirms=self.confirms_new_key,
            ),
            DashboardRoute(
                "POST", "/keys/{key}", "changeKey", Permission.KEYS, self.change_key, check=self.check_key,
                confirms=self.confirms_key,
            ),
            DashboardRoute("GET", "/developers", "showRequests", Permission.REQUEST_LOG, self.show_requests),
        ]  # fmt: skip


def _may_change(key: ApiKey, visitor: DashboardVisitor) -> bool:
    """Who may not make such a key does not get a new one by rolling it."""
    return not key.may(KeyScope.REFUND) or visitor.may(Permission.FULL_KEYS)


def key_terms_in(visitor: DashboardVisitor) -> KeyTerms:
    """Raises Invalid; AccessDenied where such a key is for others to make."""
    form = visitor.form
    if KeyScope.REFUND in scopes_in(form) and not visitor.may(Permission.FULL_KEYS):
        raise AccessDenied("only an owner or admin can make a key that refunds")
    return terms_of(key_request_in(form, now=visitor.now), now=visitor.now)


def _maker(maker: KeyMaker | None) -> str:
    """A key without a row came with the business."""
    return who_of(maker.actor if maker else OPERATOR.actor, name=maker.name if maker else None, key_name=None)
