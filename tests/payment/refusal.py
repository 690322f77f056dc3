"""What every refusal must be, checked in one place."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterable
from typing import Any

import httpx

from conftest import LEDGER_TABLES, TABLES
from tidegate.core.card_number import contains_card_number, is_card_number

# The status, the error's type, and the field that is named.
Refusal = tuple[int, str, str | None]
ENVELOPE = {"status", "success", "message", "error", "errorType", "errors", "requestId"}


async def rows_in(admin: Any) -> tuple[int, int]:
    """Payments, and answers kept under an Idempotency-Key."""
    row = await admin.fetchrow("SELECT (SELECT count(*) FROM payment), (SELECT count(*) FROM idempotency_key)")
    return row[0], row[1]


async def _rows_of_every_table(admin: Any) -> dict[str, int]:
    counts = [f"(SELECT count(*) FROM {name}) AS {name}" for name in (*TABLES, *LEDGER_TABLES)]
    return dict(await admin.fetchrow(f"SELECT {', '.join(counts)}"))


async def assert_refused(
    admin: Any,
    sending: Awaitable[httpx.Response],
    status: int,
    error_type: str,
    *,
    field: str | None = None,
) -> httpx.Response:
    """Sends, and holds that the answer says no in the right words and that nothing was written."""
    before = await _rows_of_every_table(admin)
    answer = await sending
    assert_says_no(answer, status, error_type, field=field)
    assert await _rows_of_every_table(admin) == before, "a refused request wrote a row"
    return answer


async def assert_each_refused(
    admin: Any, rows: Iterable[tuple[str, Awaitable[httpx.Response], Refusal]]
) -> list[httpx.Response]:
    """The same for many requests; each that is not refused as it should be is named."""
    before = await _rows_of_every_table(admin)
    wrong: dict[str, str] = {}
    answers = []
    for name, sending, (status, error_type, field) in rows:
        answer = await sending
        answers.append(answer)
        try:
            assert_says_no(answer, status, error_type, field=field)
        except AssertionError as error:
            wrong[name] = f"{answer.status_code} {answer.text} {error}"
    assert not wrong, wrong
    assert await _rows_of_every_table(admin) == before, "a refused request wrote a row"
    return answers


def assert_says_no(answer: httpx.Response, status: int, error_type: str, *, field: str | None = None) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    body = answer.json()
    assert set(body) - {"data"} == ENVELOPE
    assert (body["status"], body["success"]) == (False, False)
    assert body["errorType"] == error_type, answer.text
    assert body["message"] == body["error"] != ""
    assert body["requestId"] == answer.headers["x-request-id"]
    fields = [problem["field"] for problem in body["errors"]]
    assert (field in fields) if field else fields == [], answer.text
    assert all(problem["message"] for problem in body["errors"])
    assert_keeps_secrets(answer)


def assert_keeps_secrets(answer: httpx.Response) -> None:
    sent_key = answer.request.headers.get("api-key", "")
    assert len(sent_key) < 10 or sent_key not in answer.text
    # Not "sk_" alone, which a random code may contain.
    assert not re.search("sk_(test|live)_", answer.text)
    assert "Traceback" not in answer.text
    # Sixteen random letters and digits are now and then all digits.
    text = answer.text.replace(answer.headers["x-request-id"], "")
    assert not contains_card_number(text)
    assert not any(map(is_card_number, re.findall(r"(?<![0-9])[0-9]{13,19}(?![0-9])", text))), (
        "also in a path or a word"
    )


def without_request_id(answer: httpx.Response) -> bytes:
    """The whole answer but for what must differ from one answer to the next."""
    headers = b"\n".join(b"%s: %s" % (name, value) for name, value in answer.headers.raw if name != b"date")
    whole = b"%d\n%s\n\n%s" % (answer.status_code, headers, answer.content)
    return whole.replace(answer.headers["x-request-id"].encode(), b"")
