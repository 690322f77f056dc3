"""Pages with a sign-in of their own. A session of one realm opens nothing of another."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True)
class Realm:
    name: str
    path: str
    cookie: str
    idle_max: timedelta
    session_max: timedelta
    # The purpose of a link that enters the sandbox.
    enter: str


DASHBOARD = Realm("dashboard", "/dashboard", "tidegate-session", timedelta(minutes=30), timedelta(hours=12), "enter")
CONSOLE = Realm("console", "/console", "tidegate-console", timedelta(minutes=15), timedelta(hours=8), "enter_console")
