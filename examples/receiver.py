"""A receiver of Tidegate's webhooks, with nothing but the standard library.

    WEBHOOK_SECRET=whsec_… PORT=3000 python receiver.py

It does the three things that every receiver should:

1. verify the signature over the raw bytes, before anything parses them;
2. keep the event and answer at once, and only then work: who works first answers late, and is told again;
3. drop duplicates by `webhook-id`: an event can come twice, and two at the same time.
"""

import base64
import hashlib
import hmac
import json
import os
import sqlite3
import sys
import threading
import time
import traceback
from contextlib import closing
from decimal import Decimal
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECRET = os.environ.get("WEBHOOK_SECRET", "")
PORT = int(os.environ.get("PORT", "3000"))
# Yours is the database that you have; what matters is the unique key.
INBOX = os.environ.get("INBOX", "inbox.sqlite")

TOLERANCE_S = 300
BODY_BYTES_MAX = 1_000_000


def is_authentic(headers: Message, body: bytes) -> bool:
    """Standard Webhooks: the id, the time and the body are signed together, so nobody can send an old one again."""
    event_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(time.time() - int(timestamp)) > TOLERANCE_S:
        return False
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    signed = f"{event_id}.{timestamp}.".encode() + body
    expected = b"v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256))
    # There are several while a secret is being rotated; one that fits is enough.
    given = headers.get("webhook-signature", "").split()
    return any(hmac.compare_digest(expected, one.encode()) for one in given)


def is_authentic_by_signature(headers: Message, body: bytes) -> bool:
    """The other way: HMAC-SHA512 of the body, the whole secret as the key. It says nothing about the time."""
    expected = hmac.digest(SECRET.encode(), body, hashlib.sha512).hex()
    return hmac.compare_digest(expected.encode(), headers.get("signature", "").encode())


def open_inbox() -> sqlite3.Connection:
    inbox = sqlite3.connect(INBOX, isolation_level=None)
    inbox.execute("CREATE TABLE IF NOT EXISTS event (id TEXT PRIMARY KEY, body BLOB NOT NULL, done INT DEFAULT 0)")
    return inbox


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30  # Nobody holds a thread by sending slowly.

    def do_POST(self) -> None:
        length = self.headers.get("content-length", "")
        if not (length.isascii() and length.isdigit()) or int(length) > BODY_BYTES_MAX:
            return self.answer(413)
        body = self.rfile.read(int(length))
        # One of the two is enough; take is_authentic_by_signature instead if your framework hides the other headers.
        if not is_authentic(self.headers, body):
            return self.answer(401)
        with closing(open_inbox()) as inbox:
            # The key is unique: of two that come at the same time, one does nothing.
            inbox.execute("INSERT OR IGNORE INTO event (id, body) VALUES (?, ?)", (self.headers["webhook-id"], body))
        self.answer(204)  # It is kept, so Tidegate need not send it again, even if we are killed now.
        news.set()
        return None

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        if status >= 400:
            self.send_header("connection", "close")  # What is left of the body is not read.
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Quiet."""


news = threading.Event()


def work() -> None:
    """Everything that was kept and is not done yet, also by the process before this one."""
    inbox = open_inbox()
    while True:
        for event_id, body in inbox.execute("SELECT id, body FROM event WHERE NOT done ORDER BY rowid").fetchall():
            try:
                handle(event_id, json.loads(body, parse_float=Decimal))  # Money is never a float.
                inbox.execute("UPDATE event SET done = 1 WHERE id = ?", (event_id,))
            except Exception:  # One that fails must not stop the others; it is tried again with the next.
                traceback.print_exc()
        news.wait()
        news.clear()


def handle(event_id: str, event: dict[str, Any]) -> None:
    """Your work. Killed in the middle of it, it is done again at the next start; so make it safe to do twice."""
    told = event["data"]
    print("handled", event_id, event["event"], told.get("merchantReference"), told.get("amountReceived"), flush=True)


def main() -> None:
    if not SECRET.startswith("whsec_"):
        sys.exit("WEBHOOK_SECRET must be the endpoint's secret, whsec_…")
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Receiver)
    threading.Thread(target=work, daemon=True).start()
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
