from __future__ import annotations

import pytest

from tidegate.infra.http.client import client_of


@pytest.mark.parametrize(
    ("proxies", "forwarded", "expected"),
    [
        (0, ["1.1.1.1"], "9.9.9.9"),
        (1, [], "9.9.9.9"),
        (1, ["1.1.1.1"], "1.1.1.1"),
        (1, ["6.6.6.6, 1.1.1.1"], "1.1.1.1"),
        (2, ["6.6.6.6, 1.1.1.1, 2.2.2.2"], "1.1.1.1"),
        (2, ["6.6.6.6", "1.1.1.1, 2.2.2.2"], "1.1.1.1"),
        (3, ["1.1.1.1"], "9.9.9.9"),
        (1, [" "], "9.9.9.9"),
        pytest.param(1, ["203.0.113.11:51234"], "203.0.113.11", id="with a port"),
        pytest.param(1, ["6.6.6.6, [2001:db8::1]:443"], "2001:db8::1", id="IPv6 with a port"),
        pytest.param(1, ["[2001:db8::1]"], "2001:db8::1", id="in brackets"),
        pytest.param(1, ["2001:db8::1"], "2001:db8::1", id="IPv6 as it is"),
        pytest.param(1, ["unknown"], "unknown", id="no address"),
    ],
)
def test_only_our_own_proxies_are_believed(proxies: int, forwarded: list[str], expected: str) -> None:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    scope = {"client": ("9.9.9.9", 1), "headers": headers, "tidegate.trusted_proxies": proxies}
    assert client_of(scope) == expected
