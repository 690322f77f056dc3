"""Where a merchant's events are sent: another address is proposed, sending is stopped by one."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.console.accounts import reason_in
from tidegate.console.merchants import MerchantPages
from tidegate.console.proposing import propose
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, Problem
from tidegate.dashboard.paging import number_in
from tidegate.infra.address import WebUrl
from tidegate.infra.http.read import read
from tidegate.infra.page.response import Html
from tidegate.merchant import commands as merchants
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import commands as staff_approvals
from tidegate.staff_approval.arguments import EndpointArguments, EndpointChanges
from tidegate.webhook import commands, wire
from tidegate.webhook.commands import WebhookDeps
from tidegate.webhook.model import RATE_PER_SECOND_MAX, EndpointStatus


@dataclass(frozen=True)
class EndpointPages:
    shell: ConsoleShell
    merchants: MerchantPages
    deps: WebhookDeps

    async def decide(self, visitor: ConsoleVisitor) -> Html:
        """A new endpoint, or another address for one, which also enables it."""
        business_id, endpoint_id = visitor.request.path["business"], visitor.form.get("endpoint", "")
        await merchants.get(self.shell.db, business_id)
        try:
            new = wire.new_endpoint_from(read({"url": visitor.form.get("url", "").strip()}, wire.CreateEndpoint))
            await commands.refuse_forbidden(self.deps.guard, WebUrl(new.url))
            if endpoint_id:
                await commands.get(self.shell.db, business_id, endpoint_id)
                wanted = EndpointChanges(url=new.url, status=EndpointStatus.ENABLED)
                return await propose(self.shell, visitor, "webhook.change", business_id, endpoint_id, arguments=wanted)
            async with self.shell.db.connection() as tx:
                version = await staff_approvals.version_of(tx, "webhook.add", business_id, new.url)
            added = EndpointArguments(url=new.url, events=new.events, rate_per_second=new.rate_per_second)
            return await propose(
                self.shell, visitor, "webhook.add", business_id, new.url, arguments=added, version=version
            )
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self.merchants.page(visitor, business_id, wrong)

    async def pace(self, visitor: ConsoleVisitor) -> Html:
        """How fast events are sent gives no right, so one person does it."""
        business_id, rate = visitor.request.path["business"], number_in(visitor.form.get("rate", ""))
        try:
            if rate is None or not 1 <= rate <= RATE_PER_SECOND_MAX:
                raise Invalid(Problem("pace", f"Enter a whole number from 1 to {RATE_PER_SECOND_MAX}."))
            await commands.change(
                self.shell.db, business_id, visitor.form.get("endpoint", ""), {"rate_per_second": rate}, by=visitor.by,
                now=visitor.now,
            )  # fmt: skip
        except Invalid as wrong:
            return await self.merchants.page(visitor, business_id, wrong)
        return self.shell.to(f"/merchants/{business_id}?said=done")

    async def stop(self, visitor: ConsoleVisitor) -> Html:
        business_id = visitor.request.path["business"]
        changes = {"status": EndpointStatus.DISABLED}
        try:
            why = reason_in(visitor)
        except Invalid as wrong:
            return await self.merchants.page(visitor, business_id, wrong)
        await commands.change(
            self.shell.db, business_id, visitor.form.get("endpoint", ""), changes, by=visitor.by, now=visitor.now,
            why=why,
        )  # fmt: skip
        return self.shell.to(f"/merchants/{business_id}?said=done")

    async def confirms_stop(self, visitor: ConsoleVisitor) -> str:
        found = await commands.get(self.shell.db, visitor.request.path["business"], visitor.form.get("endpoint", ""))
        return f"Stop the endpoint {found.url} of {await self.merchants.name_of(visitor)}"

    def routes(self) -> list[ConsoleRoute]:
        at = "/merchants/{business}/endpoints"
        return [
            ConsoleRoute("POST", at, "proposeEndpoint", StaffPermission.PROPOSE, self.decide),
            ConsoleRoute("POST", f"{at}/pace", "paceEndpoint", StaffPermission.ASK, self.pace),
            ConsoleRoute(
                "POST", f"{at}/stop", "stopEndpoint", StaffPermission.SUSPEND, self.stop, confirms=self.confirms_stop
            ),
        ]
