"""Machines as network namespaces, joined by a bridge; a machine's cable can be pulled."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

_CLONE_NEWNET = 0x40000000
NETWORK = "10.77.0.0/24"


def run(*argv: str) -> None:
    subprocess.run(argv, check=True, capture_output=True)


class Machines:
    def __init__(self, prefix: str, count: int) -> None:
        self._prefix = prefix
        self.numbers = range(1, count + 1)

    def name(self, number: int) -> str:
        return f"{self._prefix}{number}"

    @property
    def _switch(self) -> str:
        return f"{self._prefix}sw"

    @staticmethod
    def address(number: int) -> str:
        return f"10.77.0.{number}"

    @contextmanager
    def joined(self) -> Iterator[Machines]:
        with ExitStack() as ending:
            for namespace in (self._switch, *map(self.name, self.numbers)):
                run("ip", "netns", "add", namespace)
                ending.callback(run, "ip", "netns", "del", namespace)
            run("ip", "-n", self._switch, "link", "add", "br0", "type", "bridge")
            run("ip", "-n", self._switch, "link", "set", "br0", "up")
            for number in self.numbers:
                self._join(number)
            yield self

    def _join(self, number: int) -> None:
        name, port = self.name(number), f"p{number}"
        run("ip", "-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", self._switch)
        run("ip", "-n", self._switch, "link", "set", port, "master", "br0", "up")
        run("ip", "-n", name, "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "eth0", "up")
        run("ip", "-n", name, "link", "set", "lo", "up")

    def cut(self, number: int) -> None:
        run("ip", "-n", self._switch, "link", "set", f"p{number}", "down")

    def heal(self, number: int) -> None:
        run("ip", "-n", self._switch, "link", "set", f"p{number}", "up")

    def enter(self, number: int) -> None:
        """This thread, and what it starts from now on, is on that machine."""
        with Path(f"/run/netns/{self.name(number)}").open() as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")

    def start(
        self, number: int, argv: list[str], *, user: str, log: IO[bytes], env: dict[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        as_user = ["setpriv", "--reuid", user, "--regid", user, "--init-groups"]
        return subprocess.Popen(
            ["ip", "netns", "exec", self.name(number), *as_user, *argv],
            stdout=log, stderr=subprocess.STDOUT, cwd="/", env={**os.environ, **(env or {})}, start_new_session=True,
        )  # fmt: skip
