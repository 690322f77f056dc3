"""The shop's own records: orders, what it saw, and the events that it has handled."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Literal

_TABLES = """
DROP TABLE IF EXISTS purchase;
DROP TABLE IF EXISTS note;
DROP TABLE IF EXISTS event;
CREATE TABLE purchase (reference TEXT PRIMARY KEY, thing TEXT, amount INT, currency TEXT, link TEXT, pay_code TEXT,
                       state TEXT, played TEXT, made_at REAL);
CREATE TABLE note (reference TEXT, at REAL, words TEXT);
CREATE TABLE event (id TEXT PRIMARY KEY, name TEXT, reference TEXT, at REAL);
PRAGMA user_version = 2;
"""
# Tables of another version are made again: the orders of an example are not kept for ever.
_VERSION = 2
_COLUMNS = "reference, thing, amount, currency, link, pay_code, state, played"


@dataclass(frozen=True)
class Purchase:
    reference: str
    thing: str
    amount: int
    currency: Literal["NGN", "KES"]
    link: str
    pay_code: str
    # waiting, delivered, held, not paid, taken back, refunded, refunded in part
    state: str
    # The case that a button plays.
    played: str | None


class ShopStore:
    def __init__(self, path: Path) -> None:
        self._path = path
        with closing(self._open()) as db:
            if db.execute("PRAGMA user_version").fetchone() != (_VERSION,):
                db.executescript(_TABLES)

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, isolation_level=None, timeout=10)

    def add(self, one: Purchase) -> None:
        with closing(self._open()) as db:
            values = (*astuple(one), time.time())
            db.execute(f"INSERT INTO purchase ({_COLUMNS}, made_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)

    def find(self, reference: str) -> Purchase | None:
        with closing(self._open()) as db:
            row = db.execute(f"SELECT {_COLUMNS} FROM purchase WHERE reference = ?", (reference,)).fetchone()
        return Purchase(*row) if row else None

    def newest(self, limit: int = 50) -> list[Purchase]:
        with closing(self._open()) as db:
            rows = db.execute(f"SELECT {_COLUMNS} FROM purchase ORDER BY made_at DESC LIMIT ?", (limit,)).fetchall()
        return [Purchase(*row) for row in rows]

    def waiting_since(self, at: float) -> list[str]:
        """References of orders that are open, and were made before that moment."""
        with closing(self._open()) as db:
            rows = db.execute(
                "SELECT reference FROM purchase WHERE state = 'waiting' AND made_at < ? ORDER BY made_at DESC LIMIT 50",
                (at,),
            ).fetchall()
        return [reference for (reference,) in rows]

    def set_state(self, reference: str, state: str) -> None:
        with closing(self._open()) as db:
            db.execute("UPDATE purchase SET state = ? WHERE reference = ?", (state, reference))

    def note(self, reference: str, words: str) -> None:
        with closing(self._open()) as db:
            db.execute("INSERT INTO note VALUES (?, ?, ?)", (reference, time.time(), words))

    def notes(self, reference: str) -> list[tuple[str, str]]:
        with closing(self._open()) as db:
            rows = db.execute("SELECT at, words FROM note WHERE reference = ? ORDER BY at", (reference,)).fetchall()
        return [(time.strftime("%H:%M:%S", time.localtime(at)), words) for at, words in rows]

    def keep_event(self, event_id: str, name: str, reference: str) -> bool:
        """False for one that was kept before: the unique key decides, also between two at the same moment."""
        with closing(self._open()) as db:
            values = (event_id, name, reference, time.time())
            return db.execute("INSERT OR IGNORE INTO event VALUES (?, ?, ?, ?)", values).rowcount == 1

    def events(self) -> list[tuple[str, str, str, str]]:
        with closing(self._open()) as db:
            rows = db.execute("SELECT at, name, reference, id FROM event ORDER BY at DESC LIMIT 100").fetchall()
        return [(time.strftime("%H:%M:%S", time.localtime(at)), *rest) for at, *rest in rows]
