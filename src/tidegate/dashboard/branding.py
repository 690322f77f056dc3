"""Branding: name, colour, contact and logo, with the payer's real page as preview."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

import msgspec

from tidegate.audit import store as audit
from tidegate.checkout.page.renderer import PageRenderer
from tidegate.core.colour import DEFAULT_ACCENT
from tidegate.core.errors import Invalid, Problem, Refusal
from tidegate.core.method import MethodNames
from tidegate.dashboard import brand_preview
from tidegate.dashboard.brand_preview import PreviewState
from tidegate.dashboard.shell import DashboardRoute, DashboardShell, DashboardVisitor
from tidegate.dashboard.signed_in import Upload
from tidegate.infra.http.cookie import NOTHING_SET
from tidegate.infra.page.response import Html
from tidegate.member.permission import Permission
from tidegate.merchant import store as merchants
from tidegate.merchant.field import is_email, name_in
from tidegate.merchant.logo import BYTES_MAX, Logo, logo_from
from tidegate.merchant.model import Brand, Support

NAME_CHARS_MAX = 100
# Widths as in the frame's class.
VIEWS = {"phone": "Phone", "desktop": "Desktop", "phone-dark": "Phone, dark", "desktop-dark": "Desktop, dark"}
STATES = {
    PreviewState.CHOOSE: "To pay",
    PreviewState.PAID: "Paid",
    PreviewState.CANCELLED: "Cancelled",
    PreviewState.EXPIRED: "Expired",
}
_FIELDS = ("name", "accent", "support_email", "support_phone")
_COLOUR = re.compile(r"#[0-9a-f]{6}")
_PHONE = re.compile(r"\+[1-9][0-9]{4,14}")


@dataclass(frozen=True)
class BrandingPages:
    shell: DashboardShell
    names: MethodNames

    @cached_property
    def payer_pages(self) -> PageRenderer:
        return PageRenderer(self.shell.site, None)

    async def show(self, visitor: DashboardVisitor) -> Html:
        """Values in the address are a brand that is being tried, and not saved."""
        query = visitor.request.query
        given = {name: query[name] for name in _FIELDS if name in query}
        return self._page(visitor, {**saved(visitor), **given}, is_tried=bool(given))

    def _page(
        self, visitor: DashboardVisitor, values: Mapping[str, str], *, is_tried: bool, wrong: Refusal | None = None
    ) -> Html:
        query = visitor.request.query
        view = query.get("view", "") if query.get("view") in VIEWS else "phone"
        state = query.get("state", "") if query.get("state") in STATES else PreviewState.CHOOSE.value
        shown, theme = saved(visitor) if wrong else values, "dark" if view.endswith("dark") else "light"
        drawn = self.shell.page(
            visitor, "branding.html", title="Branding", section="Branding", wrong=wrong, status=422 if wrong else 200,
            values=values, is_tried=is_tried and wrong is None, has_logo=visitor.business.brand.logo_hash is not None,
            preview=f"/branding/preview?{urlencode({**shown, 'state': state, 'theme': theme})}", view=view, state=state,
            views=[(one, word, _address(shown, is_tried, one, state)) for one, word in VIEWS.items()],
            states=[(one, word, _address(shown, is_tried, view, one)) for one, word in STATES.items()],
        )  # fmt: skip
        return msgspec.structs.replace(drawn, frames_own_pages=True)

    async def _refused(self, visitor: DashboardVisitor, wrong: Refusal) -> Html:
        """Too large: nothing of the form was read."""
        return self._page(visitor, saved(visitor), is_tried=False, wrong=wrong)

    async def preview(self, visitor: DashboardVisitor) -> Html:
        query, request = visitor.request.query, visitor.request
        try:
            values = brand_in({**saved(visitor), **{name: query[name] for name in _FIELDS if name in query}})
        except Invalid:
            values = brand_in(saved(visitor))
        support = Support(values["support_email"] or None, values["support_phone"] or None)
        brand = Brand(values["accent"], visitor.business.brand.logo_hash, support)
        state = query.get("state", "") if query.get("state") in STATES else PreviewState.CHOOSE.value
        model = brand_preview.model_of(
            visitor.business, values["name"], brand, PreviewState(state), site=self.shell.site, names=self.names,
            nonce=request.nonce, is_test=self.shell.mode.value == "sandbox", now=visitor.now,
        )  # fmt: skip
        drawn = self.payer_pages.page(model, cookies=NOTHING_SET)
        body = brand_preview.in_theme(drawn.body, is_dark=query.get("theme") == "dark")
        return msgspec.structs.replace(drawn, body=body, framed_by=self.shell.site.origin)

    async def change(self, visitor: DashboardVisitor) -> Html:
        form = visitor.form
        values = {name: form.get(name, "") for name in _FIELDS}
        try:
            changes = brand_in(values)
            if form.get("what") == "preview":
                return self.shell.to(visitor, f"/branding?{urlencode(changes)}#preview")
            given = form.files.get("logo")
            logo = await asyncio.to_thread(logo_from, given) if given is not None else None
        except Invalid as wrong:
            return self._page(visitor, values, is_tried=True, wrong=wrong)
        await self._save(visitor, changes, logo, is_removed="remove_logo" in form)
        return self.shell.to(visitor, "/branding")

    async def _save(
        self, visitor: DashboardVisitor, changes: dict[str, str], logo: Logo | None, *, is_removed: bool
    ) -> None:
        business, before = visitor.business, saved(visitor)
        details: dict[str, Any] = {
            name: [before[name], value] for name, value in changes.items() if before[name] != value
        }
        async with self.shell.db.transaction() as tx:
            await merchants.update_business(tx, business.id, changes=changes, now=visitor.now)
            if logo is not None:
                await merchants.put_logo(tx, business.id, logo, now=visitor.now)
                details["logo"] = f"{logo.width} × {logo.height} pixels"
            elif is_removed:
                await merchants.delete_logo(tx, business.id, now=visitor.now)
                details["logo"] = "removed"
            await audit.insert(
                tx, business.id, visitor.by, action="business.branded", subject=business.id, details=details,
                now=visitor.now,
            )  # fmt: skip

    def routes(self) -> list[DashboardRoute]:
        brand = Permission.BRAND
        return [
            DashboardRoute("GET", "/branding", "showBranding", brand, self.show),
            DashboardRoute("GET", "/branding/preview", "previewBranding", brand, self.preview),
            DashboardRoute(
                "POST",
                "/branding",
                "changeBranding",
                brand,
                self.change,
                upload=Upload("logo", BYTES_MAX),
                refused=self._refused,
            ),
        ]


def saved(visitor: DashboardVisitor) -> dict[str, str]:
    business, brand = visitor.business, visitor.business.brand
    return {
        "name": business.name,
        "accent": brand.accent or DEFAULT_ACCENT,
        "support_email": brand.support.email or "",
        "support_phone": brand.support.phone or "",
    }


def _address(values: Mapping[str, str], is_tried: bool, view: str, state: str) -> str:
    tried = values if is_tried else {}
    return f"/branding?{urlencode({**tried, 'view': view, 'state': state})}#preview"


def brand_in(form: Mapping[str, str]) -> dict[str, str]:
    accent, email, phone = form["accent"].lower(), form["support_email"].strip(), form["support_phone"].strip()
    problems: list[Problem] = []
    name = ""
    try:
        name = name_in(form["name"], chars_max=NAME_CHARS_MAX)
    except Invalid as wrong:
        problems += wrong.problems
    if not _COLOUR.fullmatch(accent):
        problems.append(Problem("accent", "Enter a colour such as #0f7b6c."))
    if email and not is_email(email):
        problems.append(Problem("support_email", "Enter an e-mail address, or leave it empty."))
    if phone and not _PHONE.fullmatch(phone):
        problems.append(Problem("support_phone", "Enter a number such as +2348012345678, or leave it empty."))
    if problems:
        raise Invalid(*problems)
    return {"name": name, "accent": accent, "support_email": email, "support_phone": phone}
