"""Where a transaction commits, as `make chaos` sees it in what a client sends."""

from __future__ import annotations

import pytest
from chaos.protocol import CommitWatch, MessageSplitter, writing

WRITES = writing(["post_journal"])
IDLE, IN_TRANSACTION = b"Z\0\0\0\5I", b"Z\0\0\0\5T"


def message(kind: bytes, body: bytes) -> bytes:
    return kind + (len(body) + 4).to_bytes(4) + body


def statement(text: bytes, name: bytes = b"one") -> list[bytes]:
    parts = [
        (b"P", name + b"\0" + text + b"\0\0\0"),
        (b"B", b"\0" + name + b"\0\0\0"),
        (b"E", b"\0\0\0\0\0"),
        (b"S", b""),
    ]
    return [message(*part) for part in parts]


@pytest.mark.parametrize(
    ("text", "is_write"),
    [
        (b"INSERT INTO payment VALUES ($1)", True),
        (b"WITH new AS (UPDATE wallet SET x = 1 RETURNING x) SELECT * FROM new", True),
        (b"SELECT post_journal ($1)", True),
        (b"SELECT updated_at FROM payment FOR UPDATE", False),
        (b"SELECT 1 FROM wallet FOR NO KEY UPDATE", False),
    ],
)
def test_a_statement_outside_a_transaction_commits_with_its_sync(text: bytes, is_write: bool) -> None:
    watch = CommitWatch(WRITES)
    assert [watch.commits(one) for one in statement(text)] == [False, False, False, is_write]
    # Prepared before, and only executed now.
    assert [watch.commits(one) for one in statement(text)[1:]] == [False, False, is_write]


def test_a_transaction_commits_with_its_commit() -> None:
    watch = CommitWatch(WRITES)
    assert not watch.commits(message(b"Q", b"BEGIN;\0"))
    assert watch.is_ready(IN_TRANSACTION)
    assert not any(watch.commits(one) for one in statement(b"DELETE FROM payment"))
    assert watch.commits(message(b"Q", b"COMMIT;\0"))
    assert watch.is_ready(IDLE)
    assert watch.commits(message(b"Q", b"UPDATE payment SET x = 1\0"))


def test_messages_are_whole_however_they_arrive() -> None:
    sent = (8).to_bytes(4) + b"\0\3\0\0" + message(b"Q", b"SELECT 1\0") + message(b"X", b"")
    splitter = MessageSplitter(is_of_client=True)
    found = [one for byte in sent for one in splitter.feed(bytes([byte]))]
    assert found == list(MessageSplitter(is_of_client=True).feed(sent))
    assert [len(one) for one in found] == [8, 14, 5]
