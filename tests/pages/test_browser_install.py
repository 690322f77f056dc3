"""Where the browser comes from, and what is said where it cannot come."""

from __future__ import annotations

from pathlib import Path

import pytest

from browser_install import PACKAGES, VARIABLE, NoBrowser, find_browser, how_to_install


def put(folder: Path, name: str, script: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def test_the_browser_that_is_named_comes_first(tmp_path: Path) -> None:
    put(tmp_path, "chromium", "exit 0")
    named = put(tmp_path, "mine", "exit 0")
    assert find_browser({"PATH": str(tmp_path), VARIABLE: named}) == named


def test_a_named_browser_that_does_not_start_is_an_error(tmp_path: Path) -> None:
    put(tmp_path, "chromium", "exit 0")
    with pytest.raises(NoBrowser, match="does not start"):
        find_browser({"PATH": str(tmp_path), VARIABLE: str(tmp_path / "missing")})


def test_a_script_that_only_points_at_a_snap_is_no_browser(tmp_path: Path) -> None:
    put(tmp_path, "chromium-browser", "echo 'requires the chromium snap to be installed'; exit 1")
    assert find_browser({"PATH": str(tmp_path)}) is None
    chrome = put(tmp_path, "google-chrome", "exit 0")
    assert find_browser({"PATH": str(tmp_path)}) == chrome


def test_root_installs_from_the_packages_of_the_system() -> None:
    commands = how_to_install(system="debian", has_apt=True, as_root=[])
    assert [command[2:4] for command in commands] == [["apt-get", "update"], ["apt-get", "install"]]
    assert commands[-1][-len(PACKAGES) :] == list(PACKAGES)


def test_others_install_through_sudo() -> None:
    commands = how_to_install(system="debian", has_apt=True, as_root=["sudo", "-n"])
    assert all(command[:2] == ["sudo", "-n"] for command in commands)


@pytest.mark.parametrize(
    ("system", "has_apt", "as_root", "words"),
    [
        ("debian", True, None, "run `sudo apt-get install .* chromium"),
        ("ubuntu", True, [], "pointer to a snap: install Google Chrome"),
        ("fedora", False, [], "the way your system does"),
    ],
)
def test_who_cannot_install_it_is_told_what_to_do(
    system: str, has_apt: bool, as_root: list[str] | None, words: str
) -> None:
    with pytest.raises(NoBrowser, match=f"{words}.*{VARIABLE}"):
        how_to_install(system=system, has_apt=has_apt, as_root=as_root)
