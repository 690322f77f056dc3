"""What else is decided about a merchant: its settings, its owners, a person's lost factors."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.console.merchants import MerchantPages, limits_in
from tidegate.console.proposing import propose
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import ChangedElsewhere, Conflict, Invalid, NotFound, Problem
from tidegate.core.ids import Mode
from tidegate.embed.frame import parse_origin
from tidegate.infra.page.response import Html
from tidegate.member.model import email_in
from tidegate.merchant import commands
from tidegate.merchant.model import NamePolicy
from tidegate.merchant.redirect_host import typed_hosts
from tidegate.staff.permission import StaffPermission
from tidegate.staff_approval import commands as staff_approvals
from tidegate.staff_approval.arguments import SettingArguments
from tidegate.staff_approval.setting_words import SETTING_LABELS

VARIANCE_POLICIES = ("accept", "top_up", "return")
TOLERANCE_DIGITS_MAX = 12
LINES_MAX = 20


@dataclass(frozen=True)
class MerchantRightPages:
    shell: ConsoleShell
    merchants: MerchantPages

    async def change(self, visitor: ConsoleVisitor) -> Html:
        business_id = visitor.request.path["business"]
        business = await commands.get(self.shell.db, business_id)
        try:
            wanted = settings_in(visitor, self.shell.mode)
            changed = {
                name: value for name, value in wanted.changes.items() if _differs(value, getattr(business, name))
            }
            if not changed:
                raise Invalid(Problem("rate", "Nothing differs from what is set."))
            return await propose(
                self.shell, visitor, "merchant.settings", business_id, business_id,
                arguments=SettingArguments(**changed),
            )  # fmt: skip
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self.merchants.page(visitor, business_id, wrong)

    async def invite(self, visitor: ConsoleVisitor) -> Html:
        return await self._about_person(visitor, "merchant.owner")

    async def reset(self, visitor: ConsoleVisitor) -> Html:
        return await self._about_person(visitor, "person.reset")

    async def _about_person(self, visitor: ConsoleVisitor, command: str) -> Html:
        business_id = visitor.request.path["business"]
        try:
            email = email_in(visitor.form.get("email", ""))
            async with self.shell.db.connection() as tx:
                version = await staff_approvals.version_of(tx, command, business_id, email)
            return await propose(self.shell, visitor, command, business_id, email, version=version)
        except NotFound:
            return await self.merchants.page(
                visitor, business_id, Invalid(Problem("email", "No person signs in with this address."))
            )
        except (Invalid, ChangedElsewhere, Conflict) as wrong:
            return await self.merchants.page(visitor, business_id, wrong)

    def routes(self) -> list[ConsoleRoute]:
        at = "/merchants/{business}"
        return [
            ConsoleRoute("POST", f"{at}/settings", "proposeSettings", StaffPermission.PROPOSE, self.change),
            ConsoleRoute("POST", f"{at}/owner", "proposeOwner", StaffPermission.PROPOSE, self.invite),
            ConsoleRoute("POST", f"{at}/reset", "proposeReset", StaffPermission.PROPOSE, self.reset),
        ]


def settings_in(visitor: ConsoleVisitor, mode: Mode) -> SettingArguments:
    form, limits = visitor.form, limits_in(visitor)
    tolerance, variance, names = (form.get(name, "") for name in ("tolerance", "variance", "names"))
    if not (tolerance.isascii() and tolerance.isdigit() and len(tolerance) <= TOLERANCE_DIGITS_MAX):
        raise Invalid(
            Problem("tolerance", f"{SETTING_LABELS['variance_tolerance_minor']}: enter whole minor units, such as 100.")
        )
    if variance not in VARIANCE_POLICIES or names not in set(NamePolicy):
        raise Invalid(Problem("variance", "Choose one of the list."))
    return SettingArguments(
        rate_per_second=limits.rate_per_second,
        rate_burst=limits.rate_burst,
        variance_policy=variance,
        variance_tolerance_minor=int(tolerance),
        inflow_name_policy=names,
        redirect_hosts=typed_hosts(form.get("hosts", "")),
        checkout_origins=_origins_in(form.get("origins", ""), mode),
    )


def _origins_in(text: str, mode: Mode) -> list[str]:
    origins = text.split()
    if len(origins) > LINES_MAX:
        raise Invalid(Problem("origins", f"At most {LINES_MAX} origins."))
    return [_origin_in(origin, mode) for origin in origins]


def _origin_in(text: str, mode: Mode) -> str:
    try:
        return parse_origin(text, mode)
    except ValueError as error:
        raise Invalid(Problem("origins", f"Of the checkout origins, “{text[:100]}” {error}.")) from None


def _differs(wanted: object, set_: object) -> bool:
    return (tuple(wanted) if isinstance(wanted, list) else wanted) != set_
