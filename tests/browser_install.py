"""Finds the Chromium that the tests of pages run in. Run as a program it installs that where it may, and
what else single tests need.

It is always a browser of the system, kept up to date with it: nothing is fetched from anywhere but its own packages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

VARIABLE = "TIDEGATE_CHROMIUM"
# The first is the same browser without a window, at a third of the cost.
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
# DejaVu has the letters of Arabic and the signs of naira and cedi, in one megabyte.
PACKAGES = ("chromium-headless-shell", "fonts-dejavu-core")
OR_NAME_ONE = f"or set {VARIABLE} to the path of a Chromium or Chrome"
# Programs that single tests need, and their packages.
OTHERS = {"node": "nodejs", "pgbouncer": "pgbouncer", "php": "php-cli"}
STARTS_WITHIN_S = 30
REPORT_LINES = 15

_APT_INSTALL = ("apt-get", "install", "-y", "--no-install-recommends")


class NoBrowser(Exception):
    """Says in one sentence what to do."""


def find_browser(environment: Mapping[str, str] = os.environ) -> str | None:
    """The path of a browser that starts."""
    if named := environment.get(VARIABLE):
        if not _starts(named):
            raise NoBrowser(f"{VARIABLE} is {named!r}, which does not start; name a Chromium or Chrome, or unset it.")
        return named
    found = (shutil.which(name, path=environment.get("PATH")) for name in NAMES)
    return next((path for path in found if path and _starts(path)), None)


def _starts(path: str) -> bool:
    """Ubuntu puts a script at the browser's place that only says which snap to install."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=STARTS_WITHIN_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def require_browser() -> str:
    if path := find_browser():
        return path
    raise NoBrowser(f"The tests of pages need Chromium, and there is none: run `make browser`, {OR_NAME_ONE}.")


def how_to_install(*, system: str, has_apt: bool, as_root: Sequence[str] | None) -> list[list[str]]:
    """The commands; or, where they would not help or are not ours to run, the words for whoever may."""
    if system == "ubuntu":
        raise NoBrowser(
            "The tests of pages need Chromium, and Ubuntu's package is only a pointer to a snap: "
            f"install Google Chrome's own package, {OR_NAME_ONE}."
        )
    if not has_apt:
        raise NoBrowser(f"The tests of pages need Chromium: install it the way your system does, {OR_NAME_ONE}.")
    if as_root is None:
        raise NoBrowser(
            "The tests of pages need Chromium, and only the system's administrator can install it: "
            f"run `sudo {' '.join([*_APT_INSTALL, *PACKAGES])}`, {OR_NAME_ONE}."
        )
    return _apt(PACKAGES, as_root)


def _apt(packages: Sequence[str], as_root: Sequence[str]) -> list[list[str]]:
    asks_nothing = [*as_root, "env", "DEBIAN_FRONTEND=noninteractive"]
    return [[*asks_nothing, "apt-get", "update"], [*asks_nothing, *_APT_INSTALL, *packages]]


def _system() -> str:
    file = Path("/etc/os-release")
    lines = file.read_text().splitlines() if file.exists() else []
    return next((line.removeprefix("ID=").strip('"') for line in lines if line.startswith("ID=")), "")


def _as_root() -> list[str] | None:
    """What to put before a command, so that it runs with every right; None when there is no way without a password."""
    if os.geteuid() == 0:
        return []
    sudo = ["sudo", "-n"]
    if shutil.which("sudo") and subprocess.run([*sudo, "true"], capture_output=True, check=False).returncode == 0:
        return sudo
    return None


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.stderr.write("".join(done.stdout.splitlines(keepends=True)[-REPORT_LINES:]))
        raise NoBrowser(f"`{' '.join(command)}` failed; the end of what it said stands above.")


def install_others() -> None:
    """For examples and clients in JavaScript and PHP, and for running behind a pooler. Where it may not, the tests say
    what is missing."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    missing = [package for program, package in OTHERS.items() if not shutil.which(program, path=path)]
    as_root = _as_root()
    if not missing or as_root is None or not shutil.which("apt-get"):
        return
    print(f"Installing {', '.join(missing)} for single tests (once) ...", flush=True)
    for command in _apt(missing, as_root):
        _run(command)


def install_browser() -> None:
    if find_browser():
        return
    commands = how_to_install(system=_system(), has_apt=bool(shutil.which("apt-get")), as_root=_as_root())
    print("Installing Chromium for the tests of pages (once, a minute or two) ...", flush=True)
    for command in commands:
        _run(command)
    print(f"Installed {require_browser()}.")


if __name__ == "__main__":
    try:
        install_browser()
        install_others()
    except NoBrowser as refusal:
        sys.exit(str(refusal))
