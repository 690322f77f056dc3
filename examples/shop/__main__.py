"""`make demo`: the sandbox, unless one is running already, and the shop in front of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import httpx2
import uvicorn
from examples.shop.shop import Shop
from examples.shop.store import ShopStore
from examples.shop.web import application

from tidegate_client import Tidegate

STARTS_WITHIN_S = 180
HOME = Path(os.environ.get("TIDEGATE_HOME", ".tidegate"))
PORT = int(os.environ.get("SHOP_PORT", "4000"))
# The sandbox's front page links to it.
ADDRESS = HOME / "shop.url"
KEYS = HOME / "sandbox.json"
OWN_URL = os.environ.get("SHOP_URL", f"http://localhost:{PORT}")


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=2) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def running_sandbox() -> str | None:
    """Its address, which it has written into its folder."""
    try:
        url = str(json.loads(KEYS.read_text())["baseUrl"])
    except FileNotFoundError:
        return None
    return url if answers(url) else None


def main() -> None:
    # The server raises its signal again when it has shut down; the default would end us before the sandbox is stopped.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit())
    try:
        listener = socket.create_server(("127.0.0.1", PORT))
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise SystemExit(f"Port {PORT} cannot be used: {reason}. SHOP_PORT chooses another.") from error
    sandbox = None
    own_port = f"http://localhost:{os.environ.get('PORT', '8080')}"
    url = os.environ.get("TIDEGATE_URL") or running_sandbox() or own_port
    try:
        if not answers(url):
            sandbox = subprocess.Popen([sys.executable, "-m", "tidegate", "dev"])
        ends_at = time.monotonic() + STARTS_WITHIN_S
        while not answers(url):
            if time.monotonic() > ends_at or (sandbox and sandbox.poll() is not None):
                raise SystemExit(f"No sandbox answers at {url}.")
            time.sleep(0.2)
        keys = json.loads(KEYS.read_text())

        def connect(http: httpx2.Client) -> Tidegate:
            own = (keys["secretKey"], keys["publicKey"], keys["businessId"])
            return Tidegate(*own, base_url=keys["baseUrl"], http_client=http)

        shop = Shop(connect, ShopStore(HOME / "shop.sqlite"), OWN_URL)
        shop.register()
        threading.Thread(target=shop.verify_silent_orders, daemon=True).start()
        ADDRESS.write_text(OWN_URL)
        print(f"The shop is open: {OWN_URL}", flush=True)
        uvicorn.Server(uvicorn.Config(application(shop), log_level="warning")).run(sockets=[listener])
    finally:
        ADDRESS.unlink(missing_ok=True)
        if sandbox:
            sandbox.terminate()
            sandbox.wait()


if __name__ == "__main__":
    main()
