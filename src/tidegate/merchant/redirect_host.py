"""Names of hosts that a business lets its payers be sent back to."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tidegate.core.errors import Invalid, Problem

HOSTS_MAX = 20
LENGTH_MAX = 253
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}|localhost")


def parse_hosts(hosts: Sequence[str]) -> list[str]:
    """Raises ValueError."""
    if len(hosts) > HOSTS_MAX:
        raise ValueError(f"{len(hosts)} hosts were entered, and {HOSTS_MAX} is the most; remove some")
    wrong = next((host for host in hosts if len(host) > LENGTH_MAX or not _HOST.fullmatch(host)), None)
    if wrong is not None:
        hint = "enter names such as shop.example.com, without https:// and without a path"
        raise ValueError(f"“{wrong[:60]}” is not the name of a host; {hint}")
    return list(hosts)


def typed_hosts(text: str) -> list[str]:
    """Of a form, with spaces, commas or lines between."""
    try:
        return parse_hosts([host for host in re.split(r"[\s,]+", text.lower()) if host])
    except ValueError as error:
        raise Invalid(Problem("hosts", f"{error}.")) from None
