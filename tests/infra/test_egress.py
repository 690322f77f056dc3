"""Requests to merchants' servers: hostile host names and hostile servers."""

from __future__ import annotations

import ast
import asyncio
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import receiver as receivers
from receiver import Behaviour, answer, receiving, says
from tidegate.core.ids import Mode
from tidegate.infra import egress as egress_module
from tidegate.infra.address import Ip, WebUrl
from tidegate.infra.egress import BODY_BYTES_MAX, Egress, WebhookResponse
from tidegate.infra.guard import Forbidden, Guard

SOURCE = Path(egress_module.__file__).parents[1]
OWN = {Mode.SANDBOX: "http://127.0.0.1:1", Mode.LIVE: "https://api.example.com"}
LOOPBACK = ipaddress.ip_address("127.0.0.1")
PUBLIC = ipaddress.ip_address("93.184.215.14")


@asynccontextmanager
async def way_out(
    mode: Mode = Mode.SANDBOX,
    names: dict[str, list[Ip]] | None = None,
    own_ports: Iterable[int] = (),
    **options: Any,
) -> AsyncIterator[Egress]:
    async def look_up(host: str) -> list[Ip]:
        if host not in (names or {}):
            raise OSError(f"no such name: {host}")
        return (names or {})[host]

    opened = Egress(Guard(mode, OWN[mode], look_up, own_ports=own_ports), **options)
    async with opened.open():
        yield opened


async def post(url: str, **options: Any) -> WebhookResponse:
    async with way_out(**options) as out:
        return await out.post(url, b"{}", {"content-type": "application/json"})


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits of time are real, only shorter."""
    monkeypatch.setattr(egress_module, "TOTAL_S", 0.3)
    monkeypatch.setattr(egress_module, "CONNECT_S", 0.2)


@pytest.mark.parametrize(
    ("behaviour", "status", "error"),
    [
        pytest.param(receivers.OK, 200, None, id="well"),
        pytest.param(receivers.HUGE_BODY, 200, None, id="10 GB"),
        pytest.param(receivers.GZIP_BOMB, 200, None, id="gzip bomb"),
        pytest.param(receivers.SLOW_DRIP, 200, "timeout", id="a byte at a time"),
        pytest.param(receivers.hang, None, "timeout", id="nothing at all"),
        pytest.param(receivers.FLOOD_OF_1XX, None, "timeout", id="1xx without end"),
        pytest.param(receivers.ENDLESS_HEADERS, None, "bad_response", id="headers without end"),
        pytest.param(receivers.LONG_HEADER, None, "bad_response", id="one header without end"),
        pytest.param(receivers.JUNK, None, "bad_response", id="junk"),
        pytest.param(receivers.HTTP_0_9, None, "bad_response", id="HTTP/0.9"),
        pytest.param(receivers.SWITCHING, 101, None, id="another protocol"),
        pytest.param(receivers.HALF, 200, "connection_lost", id="half a body"),
        pytest.param(receivers.reset, None, "connection_lost", id="reset"),
        pytest.param(receivers.close, None, "connection_lost", id="closed"),
        pytest.param(answer(302, location="http://169.254.169.254/latest"), 302, None, id="a redirect"),
        pytest.param(
            says(b"HTTP/1.1 200 OK\r\ncontent-length: 9999999999999999999999\r\n\r\n"), None, None, id="absurd"
        ),
    ],
)
async def test_whatever_answers_it_ends_soon_and_little_is_kept(
    request: pytest.FixtureRequest, behaviour: Behaviour, status: int | None, error: str | None
) -> None:
    # Only what would wait: on a busy machine the others may take longer than the shorter limits.
    if error == "timeout" or (status, error) == (None, None):
        request.getfixturevalue("hurried")
    async with receiving(behaviour) as hostile, asyncio.timeout(60):
        reply = await post(hostile.url())
        if (status, error) != (None, None):
            assert (reply.status, reply.error) == (status, error)
        assert len(reply.body) <= BODY_BYTES_MAX
        assert len(hostile.received) == 1
        assert hostile.at_once_most == 1


async def test_a_body_is_never_unpacked() -> None:
    async with receiving(receivers.GZIP_BOMB) as hostile:
        assert (await post(hostile.url())).body[:2] == b"\x1f\x8b"


async def test_no_server_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with receiving() as proxy, receiving() as target:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url("/"))
        assert (await post(target.url())).status == 200
        assert (len(proxy.received), len(target.received)) == (0, 1)


async def test_cookies_of_the_receiver_are_not_kept() -> None:
    async with receiving(answer(200, set_cookie="a=b; Path=/")) as target, way_out() as out:
        for _ in range(2):
            await out.post(target.url(), b"{}", {})
        assert "cookie" not in target.received[1].headers


@pytest.mark.parametrize("headers", [{"a": "b\r\nevil: 1"}, {"a\nevil": "1"}, {"a": "b\rc"}])
async def test_a_line_break_in_a_header_is_refused(headers: dict[str, str]) -> None:
    async with receiving() as target, way_out() as out:
        assert (await out.post(target.url(), b"{}", headers)).error == "bad_response"
        assert target.received == []


@pytest.mark.parametrize("path", ["/ HTTP/1.1\r\nevil: 1", "/\nevil: 1"])
async def test_a_line_break_in_an_address_is_refused(path: str) -> None:
    """As if somebody had written it past us."""
    async with receiving() as target, way_out() as out:
        assert (await out.post(target.url(path), b"{}", {})).error == "address_refused"
        assert target.received == []


async def test_connections_are_used_again() -> None:
    async with receiving() as target, way_out() as out:
        for _ in range(5):
            await out.post(target.url(), b"{}", {})
        assert (len(target.received), target.connections) == (5, 1)


# Names.


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("inside", ["10.1.2.3", "169.254.169.254", "fd00:ec2::254", "64:ff9b::a00:1", "224.0.0.1"])
async def test_a_host_name_with_one_private_address_is_not_called_at_all(mode: Mode, inside: str) -> None:
    names = {"shop.example.com": [PUBLIC, ipaddress.ip_address(inside)]}
    reply = await post("https://shop.example.com/", mode=mode, names=names)
    assert reply.error == "address_refused"


@pytest.mark.parametrize("error", ["name_not_found"])
async def test_a_host_name_that_does_not_exist_fails_the_attempt(error: str) -> None:
    assert (await post("https://nowhere.example.com/")).error == error


async def test_a_name_server_that_does_not_answer_fails_the_attempt_in_time(hurried: None) -> None:
    async def never(_: str) -> list[Ip]:
        return await asyncio.Event().wait()  # type: ignore[return-value]

    out = Egress(Guard(Mode.LIVE, OWN[Mode.LIVE], never))
    async with out.open(), asyncio.timeout(60):
        # On a busy machine both limits may have passed.
        assert (await out.post("https://slow.example.com/", b"", {})).error in ("connect_timeout", "timeout")


async def test_a_host_name_without_addresses_fails_the_attempt() -> None:
    assert (await post("https://empty.example.com/", names={"empty.example.com": []})).error == "name_not_found"


async def test_a_host_name_that_becomes_private_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    """Public when it is checked, this machine a moment later: what is dialled is what was checked."""
    dialled: list[str] = []

    async def connect(_: Any, address: Any) -> None:
        dialled.append(address[0])
        raise ConnectionRefusedError

    asked = 0

    async def flipping(_: str) -> list[Ip]:
        nonlocal asked
        asked += 1
        return [PUBLIC if asked % 2 else LOOPBACK]

    monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", connect)
    trust = ssl.create_default_context()
    async with receiving() as inside:
        guard = Guard(Mode.LIVE, OWN[Mode.LIVE], flipping)
        monkeypatch.setattr("tidegate.infra.guard.LIVE_PORTS", frozenset({443, 8443, inside.port}))
        errors = []
        for _ in range(1_000):
            out = Egress(guard, trust=trust)
            async with out.open():
                errors.append((await out.post(f"https://flip.example.com:{inside.port}/", b"", {})).error)
        assert inside.connections == 0
    assert set(dialled) == {str(PUBLIC)}
    assert (errors.count("connect_failed"), errors.count("address_refused")) == (500, 500)


async def test_the_last_check_is_of_the_connected_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if nobody had judged the address before, nothing is dialled that must not be."""
    async with receiving() as inside:
        out = Egress(Guard(Mode.LIVE, OWN[Mode.LIVE]))
        monkeypatch.setattr(out, "_problem_in", lambda _: None)
        async with out.open():
            assert (await out.post(inside.url(), b"", {})).error == "address_refused"
        assert inside.connections == 0


# TLS.


Certify = Callable[..., tuple[Path, Path]]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Certify, ssl.SSLContext]:
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Authority of the tests")])
    now = datetime.now(UTC)

    def sign(subject: x509.Name, public_key: Any, *, ends_at: datetime, **is_for: Any) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=30))
            .not_valid_after(ends_at)
            .add_extension(x509.BasicConstraints(ca=not is_for, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
        )
        if is_for:
            builder = builder.add_extension(x509.SubjectAlternativeName(is_for["names"]), critical=False)
        return builder.sign(key, hashes.SHA256())

    def certify(host: str, *, days: int = 30) -> tuple[Path, Path]:
        own = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
        made = sign(subject, own.public_key(), ends_at=now + timedelta(days=days), names=[x509.DNSName(host)])
        certificate, private = folder / f"{host}{days}.pem", folder / f"{host}{days}.key"
        certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        private.write_bytes(
            own.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return certificate, private

    root = sign(name, key.public_key(), ends_at=now + timedelta(days=30))
    trust = ssl.create_default_context(cadata=root.public_bytes(serialization.Encoding.PEM).decode())
    trust.minimum_version = ssl.TLSVersion.TLSv1_2
    return certify, trust


def server_with(certificate: Path, private: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, private)
    return context


LOCAL: dict[str, list[Ip]] = {"shop.example.com": [LOOPBACK], "other.example.com": [LOOPBACK]}


async def test_a_good_certificate_is_accepted(authority: tuple[Certify, ssl.SSLContext]) -> None:
    certify, trust = authority
    async with receiving(tls=server_with(*certify("shop.example.com"))) as target:
        reply = await post(target.url(host="shop.example.com"), names=LOCAL, trust=trust)
        assert (reply.status, target.received[0].headers["host"]) == (200, f"shop.example.com:{target.port}")


@pytest.mark.parametrize("case", ["of another host", "expired", "signed by nobody we know"])
async def test_a_wrong_certificate_fails_the_attempt(case: str, authority: tuple[Certify, ssl.SSLContext]) -> None:
    certify, trust = authority
    files = certify("shop.example.com", days=-1 if case == "expired" else 30)
    host = "other.example.com" if case == "of another host" else "shop.example.com"
    options = {} if case == "signed by nobody we know" else {"trust": trust}
    async with receiving(tls=server_with(*files)) as target:
        reply = await post(target.url(host=host), names=LOCAL, **options)
        assert (reply.error, target.received) == ("tls_failed", [])


async def test_an_old_tls_version_fails_the_attempt(authority: tuple[Certify, ssl.SSLContext]) -> None:
    certify, trust = authority
    server = server_with(*certify("shop.example.com"))
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        server.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        server.maximum_version = ssl.TLSVersion.TLSv1_1
    server.set_ciphers("ALL:@SECLEVEL=0")
    async with receiving(tls=server) as target:
        reply = await post(target.url(host="shop.example.com"), names=LOCAL, trust=trust)
        # Either side may be the first to hang up.
        assert reply.error in ("tls_failed", "connect_failed")
        assert target.received == []


async def test_a_tls_handshake_that_stalls_fails_the_attempt_in_time(hurried: None) -> None:
    async with receiving(receivers.hang) as target, asyncio.timeout(60):
        url = target.url(host="shop.example.com").replace("http:", "https:")
        assert (await post(url, names=LOCAL)).error in ("connect_timeout", "timeout", "tls_failed")


def test_no_other_module_makes_requests() -> None:
    """Whatever leaves us for an address that a stranger chose goes through the guard. The API client and
    the traces call the hosts of the operator's settings; what a developer types, and an emulator, calls his own
    machine.
    """
    clients = {"aiohttp", "httpx", "requests", "urllib3", "http.client", "urllib.request"}
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name == client or name.startswith(f"{client}.") for name in names for client in clients):
                found.add(path.relative_to(SOURCE).as_posix())
    assert {name for name in found if not name.startswith(("cli/", "emulator/"))} == {
        "infra/egress.py",
        "infra/api_client.py",
        "infra/trace.py",
    }


def test_tls_is_checked_by_default() -> None:
    trust = egress_module._usual_trust()
    assert (trust.verify_mode, trust.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert trust.minimum_version >= ssl.TLSVersion.TLSv1_2


async def test_this_service_itself_is_not_called_by_whatever_name() -> None:
    async with receiving() as receiver:
        for host in ("127.0.0.1", "shop.example"):
            url = receiver.url(host=host)
            names = {"shop.example": [LOOPBACK]}
            assert (await post(url, names=names)).status == 200
            assert (await post(url, names=names, own_ports=[receiver.port])).error == "address_refused"
    assert len(receiver.received) == 2


async def test_of_this_service_only_its_own_receiver_is_called() -> None:
    async with receiving() as receiver:
        own = f"http://127.0.0.1:{receiver.port}"
        guard = Guard(Mode.SANDBOX, own, own_receiver="/receiver")
        out = Egress(guard)
        async with out.open():
            assert (await out.post(f"{own}/receiver/shop1", b"{}", {})).status == 200
            for path in (
                "/receiver",
                "/receiver/",
                "/receiver/../x",
                "/receiver/a/b",
                "/receiver/a?b",
                "/x/receiver/a",
            ):
                assert (await out.post(own + path, b"{}", {})).error == "address_refused", path
            named = f"http://localhost:{receiver.port}/receiver/shop1"
            assert (await out.post(named, b"{}", {})).error == "address_refused"
    assert len(receiver.received) == 1
    assert Guard(Mode.LIVE, own).problem_in(WebUrl(f"{own}/receiver/shop1")) is not None


async def test_an_address_of_this_machine_is_known_at_the_socket() -> None:
    async with way_out(own_ports=[4711]) as out, receiving() as receiver:
        address = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", 4711))
        with pytest.raises(Forbidden):
            out._open_socket(address)
        out._open_socket((*address[:4], ("127.0.0.1", receiver.port))).close()
