"""`tidegate doctor --deep`: each finding against something real that is in order, and something that is not."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mail.mail_server import mail_server
from process import free_port
from tidegate.core.finding import Finding
from tidegate.core.ids import Mode
from tidegate.doctor import server_store
from tidegate.doctor.database_certificate import DAYS_MIN, examine_database_certificate
from tidegate.doctor.installation import examine_installation
from tidegate.doctor.public_address import CERTIFICATE_DAYS_MIN, examine_public_address
from tidegate.infra.db import Database
from tidegate.settings import Settings

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


async def examined(db: Database, settings: Settings) -> dict[str, Finding]:
    now = datetime.now(UTC)
    return {finding.subject: finding async for finding in examine_installation(db, settings, now=now)}


async def test_a_sandbox_in_order_has_no_bad_finding(db: Database, base_url: str) -> None:
    findings = await examined(db, Settings(base_url=base_url))
    assert [finding for finding in findings.values() if not finding.is_well] == []
    assert findings["public address"].what.endswith("/readyz answers 200")
    assert "free space is not visible: GRANT pg_monitor TO tidegate_app" in findings["disk"].what
    assert " of " in findings["connections"].what


async def test_in_live_mode_what_can_lose_money_is_a_failure_with_advice(db: Database, base_url: str) -> None:
    """The tests' own server: one machine, no standby, no archive, and the login is its superuser."""
    findings = await examined(db, Settings(base_url=base_url, mode=Mode.LIVE))
    wrong = {finding.subject: finding for finding in findings.values() if not finding.is_well}
    assert set(wrong) == {"proxies", "login", "standbys", "WAL archive"}
    assert all(finding.advice for finding in wrong.values())
    assert (await examined(db, Settings(base_url=base_url, mode=Mode.LIVE, trusted_proxies=1)))["proxies"].is_well


async def test_with_the_right_to_see_it_files_and_standbys_are_looked_at(admin: Any) -> None:
    transaction = admin.transaction()
    await transaction.start()
    try:
        await admin.execute("SET LOCAL ROLE tidegate_app")
        before = await server_store.get_login(admin)
        await admin.execute("RESET ROLE; GRANT pg_monitor TO tidegate_app; SET LOCAL ROLE tidegate_app")
        after, files = await server_store.get_login(admin), await server_store.get_files(admin)
        standbys = await server_store.get_standbys(admin)
    finally:
        await transaction.rollback()
    assert (before.is_monitor, after.is_monitor) == (False, True)
    assert files.wal_bytes > 0
    assert files.data_directory.startswith("/")
    assert (standbys.is_standby, standbys.all, standbys.lag_s) == (False, 0, 0)


async def test_a_slot_that_nobody_reads_is_found(admin: Any) -> None:
    if await admin.fetchval("SHOW max_replication_slots") == "0" or await admin.fetchval("SHOW wal_level") == "minimal":
        pytest.skip("this server has no replication slots")
    await admin.execute("SELECT pg_create_physical_replication_slot('left_behind', true)")
    try:
        assert [line.split()[0] for line in await server_store.list_idle_slots(admin, bytes_min=0)] == ["left_behind"]
        assert await server_store.list_idle_slots(admin, bytes_min=1024**4) == []
    finally:
        await admin.execute("SELECT pg_drop_replication_slot('left_behind')")


@pytest.mark.parametrize(("days", "is_well"), [(DAYS_MIN + 1, True), (DAYS_MIN - 2, False)])
async def test_a_database_s_certificate_is_seen_before_it_ends(tmp_path: Path, days: int, is_well: bool) -> None:
    async with speaking_tls(certificate(tmp_path, days=days)) as url:
        found = await examine_database_certificate(url, now=datetime.now(UTC))
    assert found is not None
    assert (found.is_well, found.what) == (is_well, f"{days} days left")


async def test_a_database_without_tls_has_no_certificate(database_url: str) -> None:
    assert await examine_database_certificate(database_url, now=datetime.now(UTC)) is None


@asynccontextmanager
async def speaking_tls(file: Path) -> AsyncIterator[str]:
    """As PostgreSQL begins TLS; the tests' own is built without."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readexactly(8) == bytes.fromhex("0000000804d2162f")
        writer.write(b"S")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(file)
        await writer.start_tls(context)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"postgresql://somebody@127.0.0.1:{server.sockets[0].getsockname()[1]}/tidegate"


async def test_the_mail_server_is_logged_in_to_and_gets_no_mail(db: Database, base_url: str) -> None:
    async with mail_server() as server:
        settings = Settings(base_url=base_url, mail=server.settings)
        assert (await examined(db, settings))["mail login"].is_well
        assert server.received == []
    away = replace(settings, mail=replace(server.settings, port=free_port()))
    finding = (await examined(db, away))["mail login"]
    assert not finding.is_well
    assert "TIDEGATE_SMTP_URL" in finding.advice


# The public address


def certificate(folder: Path, *, days: int, name: str = "127.0.0.1") -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    alternative = x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - timedelta(days=1))
        .not_valid_after(datetime.now(UTC) + timedelta(days=days, hours=1))
        .add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / f"{name}-{days}.pem"
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return file


@asynccontextmanager
async def proxy(file: Path | None, *, answer: bytes = b"HTTP/1.1 200 OK\r\n\r\n") -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:")
        writer.write(answer)
        await writer.drain()
        writer.close()

    context = None
    if file is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(file)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield f"{'https' if file else 'http'}://127.0.0.1:{port}"


def trusting(file: Path) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(file))


async def test_a_valid_certificate_and_a_ready_service_are_well(tmp_path: Path) -> None:
    file = certificate(tmp_path, days=60)
    async with proxy(file) as url:
        found = await examine_public_address(url, now=datetime.now(UTC), trust=trusting(file))
    assert [(one.subject, one.is_well) for one in found] == [("certificate", True), ("public address", True)]
    assert "TLSv1.3, 60 days left" in found[0].what


async def test_a_certificate_that_ends_soon_is_a_failure(tmp_path: Path) -> None:
    file = certificate(tmp_path, days=CERTIFICATE_DAYS_MIN - 1)
    async with proxy(file) as url:
        found = await examine_public_address(url, now=datetime.now(UTC), trust=trusting(file))
    assert [(one.subject, one.is_well) for one in found] == [("certificate", False), ("public address", True)]


async def test_a_certificate_that_browsers_do_not_trust_is_a_failure(tmp_path: Path) -> None:
    file = certificate(tmp_path, days=60)
    async with proxy(file) as url:
        [found] = await examine_public_address(url, now=NOW)
    assert (found.subject, found.is_well) == ("certificate", False)
    other = certificate(tmp_path, days=60, name="pay.example.com")
    async with proxy(other) as url:
        [found] = await examine_public_address(url, now=NOW, trust=trusting(other))
    assert "certificate is not valid for" in found.what


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", "answers 503"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "it does not answer in HTTP"),
        (b"", "cannot be used"),
        (b"x" * 100_000, "cannot be used"),
    ],
)
async def test_another_answer_than_ready_is_a_failure(answer: bytes, what: str) -> None:
    async with proxy(None, answer=answer) as url:
        found = await examine_public_address(url, now=NOW)
    assert [one.is_well for one in found] == [False]
    assert what in found[0].what


async def test_an_address_where_nobody_answers_is_a_failure() -> None:
    for host in ("127.0.0.1", "nowhere.invalid"):
        [found] = await examine_public_address(f"https://{host}:{free_port()}", now=NOW)
        assert not found.is_well
        assert "TIDEGATE_BASE_URL" in found.advice
