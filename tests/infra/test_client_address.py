from __future__ import annotations

from typing import Any

import pytest

from tidegate.infra.http.client import client_of, id_by_proxy


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


@pytest.mark.parametrize(
    ("proxies", "given", "expected"),
    [
        pytest.param(0, ["83b698e7-e31f-4377-a65e-84183bc03d08"], None, id="no proxy of ours"),
        pytest.param(1, [], None, id="none given"),
        pytest.param(1, ["83b698e7-e31f-4377-a65e-84183bc03d08"], "83b698e7-e31f-4377-a65e-84183bc03d08", id="Caddy"),
        pytest.param(1, ["0ff6a1b2c3d4e5f60718293a4b5c6d7e"], "0ff6a1b2c3d4e5f60718293a4b5c6d7e", id="nginx"),
        pytest.param(1, ["a" * 16, "b" * 16], None, id="two of them"),
        pytest.param(1, ["a" * 15], None, id="too short to be the only one"),
        pytest.param(1, ["a" * 65], None, id="too long"),
        pytest.param(1, ['aaaaaaaaaaaaaaaa", "status": 200'], None, id="more than an id"),
        pytest.param(1, ["a" * 20 + "\n"], None, id="with a line's end"),
        pytest.param(1, ["٣" * 20], None, id="digits of another script"),
    ],
)
def test_only_an_id_of_our_own_proxy_is_taken_over(proxies: int, given: list[str], expected: str | None) -> None:
    headers = [(b"x-request-id", value.encode()) for value in given]
    scope: dict[str, Any] = {"headers": headers, "tidegate.trusted_proxies": proxies}
    assert id_by_proxy(scope) == expected
