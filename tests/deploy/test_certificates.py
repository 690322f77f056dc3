"""The certificates of the machines of deploy/ha: databases, etcd and Patroni know each other by them."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

HA = Path(__file__).parents[2] / "deploy" / "ha"

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    subprocess.run(["sh", HA / "certificate.sh", tmp_path, "pg1=10.0.0.1", "vote=10.0.0.3"], check=True)
    return tmp_path


def shake_hands(folder: Path, *, server: str, client: str | None, at: str) -> None:
    """Each asks for the other's certificate, as etcd does; `at` is where the client believes to be."""
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    asking = ssl.create_default_context(cafile=folder / "authority.crt")
    serving.load_cert_chain(folder / f"{server}.crt", folder / f"{server}.key")
    serving.load_verify_locations(folder / "authority.crt")
    serving.verify_mode = ssl.CERT_REQUIRED
    # As Python 3.13 does without being asked.
    for context in (serving, asking):
        context.verify_flags |= ssl.VERIFY_X509_STRICT
    if client:
        asking.load_cert_chain(folder / f"{client}.crt", folder / f"{client}.key")
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [asking.wrap_bio(back, there, server_hostname=at), serving.wrap_bio(there, back, server_side=True)]
    for _ in range(3):
        for end in ends:
            with suppress(ssl.SSLWantReadError):
                end.do_handshake()
    for end in ends:
        end.do_handshake()


@pytest.mark.parametrize("at", ["pg1", "10.0.0.1", "127.0.0.1"])
def test_a_machine_is_known_by_its_name_its_address_and_on_itself(authority: Path, at: str) -> None:
    shake_hands(authority, server="pg1", client="vote", at=at)


def test_a_machine_is_not_taken_for_another(authority: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(authority, server="vote", client="pg1", at="10.0.0.1")


def test_who_has_no_certificate_is_not_let_in(authority: Path) -> None:
    with pytest.raises(ssl.SSLError):
        shake_hands(authority, server="pg1", client=None, at="10.0.0.1")


def test_a_machine_more_gets_a_certificate_of_the_same_authority(authority: Path) -> None:
    before = (authority / "authority.crt").read_bytes()
    subprocess.run(["sh", HA / "certificate.sh", authority, "pg3=10.0.0.4"], check=True)
    assert (authority / "authority.crt").read_bytes() == before
    shake_hands(authority, server="pg3", client="vote", at="10.0.0.4")


def test_what_decides_who_leads_is_reached_by_tls_only() -> None:
    assert [path.name for path in HA.iterdir() if "http://" in path.read_text()] == []
