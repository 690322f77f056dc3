"""Documents about account holders: added by an operator, opened by anyone of the staff after saying why."""

from __future__ import annotations

from dataclasses import dataclass

from tidegate.account import commands, document
from tidegate.console.accounts import AccountPages, reason_in
from tidegate.console.shell import ConsoleRoute, ConsoleShell, ConsoleVisitor
from tidegate.core.errors import Conflict, Invalid, NotFound, Problem
from tidegate.dashboard.paging import number_in
from tidegate.dashboard.signed_in import Upload
from tidegate.infra.page.response import File, Html
from tidegate.staff.permission import StaffPermission

_ENDINGS = {"application/pdf": "pdf", "image/png": "png", "image/jpeg": "jpg"}


@dataclass(frozen=True)
class DocumentPages:
    shell: ConsoleShell
    accounts: AccountPages

    async def add(self, visitor: ConsoleVisitor) -> Html:
        account = await commands.get_unscoped(self.shell.db, visitor.request.path["account"])
        try:
            body = visitor.form.files.get("file")
            if body is None:
                raise Invalid(Problem("file", "Choose a PDF, PNG or JPEG file."))
            async with self.shell.db.transaction() as tx:
                await document.add(
                    tx, self.shell.sign_in.vault, account, name=visitor.form.get("name", ""), body=body,
                    by=visitor.by, now=visitor.now,
                )  # fmt: skip
        except (Invalid, Conflict) as wrong:
            return await self.accounts.page(visitor, wrong)
        return self.shell.to(f"/accounts/{account.id}?said=done")

    async def open(self, visitor: ConsoleVisitor) -> Html | File:
        account = await commands.get_unscoped(self.shell.db, visitor.request.path["account"])
        number = number_in(visitor.request.path["document"])
        if number is None:
            raise NotFound("this account has no such document")
        try:
            why = reason_in(visitor)
        except Invalid as wrong:
            return await self.accounts.page(visitor, wrong)
        async with self.shell.db.transaction() as tx:
            found, body = await document.open_with_reason(
                tx, self.shell.sign_in.vault, account, number, why=why, by=visitor.by, now=visitor.now
            )
        name = f"document-{found.id}.{_ENDINGS[found.media_type]}"
        headers = [
            (b"content-disposition", f'attachment; filename="{name}"'.encode()),
            (b"cache-control", b"no-store"),
        ]
        return File(body, found.media_type, headers=headers)

    def routes(self) -> list[ConsoleRoute]:
        at = "/accounts/{account}/documents"
        return [
            ConsoleRoute(
                "POST",
                at,
                "addDocument",
                StaffPermission.PROPOSE,
                self.add,
                upload=Upload("file", document.BYTES_MAX),
                refused=self.accounts.page,
            ),
            ConsoleRoute("POST", f"{at}/{{document}}", "openDocument", StaffPermission.DOCUMENT, self.open),
        ]
