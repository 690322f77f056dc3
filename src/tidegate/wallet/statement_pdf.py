"""A statement to keep, as a PDF; `statement.typ` is its design."""

from __future__ import annotations

from functools import cache
from importlib import resources

from tidegate.infra.pdf.compile import compile_in_child
from tidegate.wallet.statement import Statement


async def statement_pdf(statement: Statement) -> bytes:
    return await compile_in_child(_template(), statement, made_at=statement.made_at)


@cache
def _template() -> str:
    return (resources.files(__package__) / "statement.typ").read_text("utf-8")
