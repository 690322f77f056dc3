"""Which machines an address leads to, and which of them may be called."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegate.infra.address import WebUrl, is_loopback, is_public, is_spelled_as_number

PRIVATE = [
    "0.0.0.0", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254",
    "169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1",
    "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
    "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1", "100::1", "2001::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::",
    "2002:808:808::1", "3fff::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1",
]  # fmt: skip
PUBLIC = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
    "128.0.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255", "198.17.255.255", "198.20.0.0",
    "223.255.255.255", "2606:4700::1111", "2a00:1450::1", "64:ff9b::808:808", "::ffff:8.8.8.8",
]  # fmt: skip


@pytest.mark.parametrize("text", PRIVATE)
def test_what_was_set_aside_is_not_public(text: str) -> None:
    assert not is_public(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", PUBLIC)
def test_the_rest_is(text: str) -> None:
    assert is_public(ipaddress.ip_address(text))


@given(st.ip_addresses())
def test_we_call_nothing_public_that_the_standard_library_calls_private(
    ip: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    if is_public(ip):
        assert ip.is_global or ip in ipaddress.ip_network("64:ff9b::/96") or getattr(ip, "ipv4_mapped", None)
        assert not ip.is_multicast


@given(st.ip_addresses(v=4))
def test_an_address_in_disguise_is_judged_by_what_it_stands_for(ip: ipaddress.IPv4Address) -> None:
    for prefix in (0xFFFF << 32, 0x64FF9B << 96):
        assert is_public(ipaddress.IPv6Address(prefix + int(ip))) == is_public(ip)


@pytest.mark.parametrize("text", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
def test_this_machine_is_known(text: str) -> None:
    assert is_loopback(ipaddress.ip_address(text))


@pytest.mark.parametrize("text", ["0.0.0.0", "::", "10.0.0.1", "8.8.8.8", "fe80::1"])
def test_others_are_not_this_machine(text: str) -> None:
    assert not is_loopback(ipaddress.ip_address(text))


@pytest.mark.parametrize("host", ["0", "127.1", "0177.0.0.1", "2130706433", "0x7f000001", "127.0.0.0x1", "1.2.3.4.5"])
def test_numbers_that_a_resolver_would_understand_are_seen(host: str) -> None:
    assert is_spelled_as_number(host)
    assert not WebUrl.parse(f"https://{host}/").is_public


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "shop.example.com", "localhost", "1e100.net"])
def test_names_and_whole_addresses_are_no_such_numbers(host: str) -> None:
    assert not is_spelled_as_number(host)


@pytest.mark.parametrize(
    ("url", "port"),
    [("https://a.com", 443), ("http://a.com/x", 80), ("https://a.com:8443/", 8443), ("HTTPS://A.com", 443)],
)
def test_the_port_of_an_address(url: str, port: int) -> None:
    assert WebUrl.parse(url).port == port
