"""What is sealed opens for its owner, with its key, and for nobody else."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from tidegate.infra.vault import NoKey, Vault, key_kept_in

OLD, NEW = b"o" * 32, b"n" * 32


def test_what_is_sealed_opens_again() -> None:
    sealed = Vault([NEW]).seal("whsec_ä", owner="shop")
    assert "whsec" not in sealed
    assert Vault([NEW]).open(sealed, owner="shop") == "whsec_ä"


def test_the_same_secret_is_never_sealed_the_same_way() -> None:
    vault = Vault([NEW])
    assert vault.seal("s", owner="shop") != vault.seal("s", owner="shop")


def test_it_opens_for_its_owner_only() -> None:
    sealed = Vault([NEW]).seal("secret", owner="shop")
    with pytest.raises(NoKey, match="moved"):
        Vault([NEW]).open(sealed, owner="other")


def test_a_changed_letter_is_noticed() -> None:
    sealed = Vault([NEW]).seal("secret", owner="shop")
    place = len(sealed) - 6
    changed = sealed[:place] + ("A" if sealed[place] != "A" else "B") + sealed[place + 1 :]
    with pytest.raises(NoKey):
        Vault([NEW]).open(changed, owner="shop")


def test_a_new_key_is_put_before_the_old_one_which_still_opens() -> None:
    sealed = Vault([OLD]).seal("secret", owner="shop")
    both = Vault([NEW, OLD])
    assert both.open(sealed, owner="shop") == "secret"
    assert Vault([NEW]).open(both.seal("other", owner="shop"), owner="shop") == "other"
    with pytest.raises(NoKey, match="add that key"):
        Vault([NEW]).open(sealed, owner="shop")


def test_without_a_key_nothing_is_sealed() -> None:
    with pytest.raises(NoKey, match="TIDEGATE_ENCRYPTION_KEY must be set"):
        Vault([]).seal("secret", owner="shop")


def test_text_that_is_no_ciphertext_is_refused() -> None:
    key_id = Vault([NEW]).seal("secret", owner="shop").partition(":")[0]
    for box in ("", "x", "AAAA"):
        with pytest.raises(NoKey, match="changed"):
            Vault([NEW]).open(f"{key_id}:{box}", owner="shop")


@pytest.mark.parametrize("text", ["", "AAAA", "no base64"])
def test_a_damaged_key_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "encryption-key"
    path.write_text(text)
    with pytest.raises(NoKey, match="encryption-key is damaged"):
        key_kept_in(path)


def test_a_sandbox_keeps_one_key_for_all_its_processes(tmp_path: Path) -> None:
    path = tmp_path / "home" / "encryption-key"
    at_once = Barrier(8)

    def ask(_: int) -> bytes:
        at_once.wait()
        return key_kept_in(path)

    with ThreadPoolExecutor(8) as threads:
        keys = set(threads.map(ask, range(8)))
    assert len(keys) == 1
    assert len(keys.pop()) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
