"""`tidegate merchant set`, as far as it is about what a payer sees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import pictures
from build import Shop
from tidegate.cli import main
from tidegate.cli.business_settings import checked
from tidegate.core.ids import Mode
from tidegate.merchant.logo import logo_from

NOTHING = {"accentColour": None, "logoHash": None, "supportEmail": None, "supportPhone": None, "supportUrl": None}

Set = Callable[..., tuple[int, str]]


@pytest.fixture
def set_(database_url: str, shop: Shop) -> Set:
    def run(*options: str, **environment: str) -> tuple[int, str]:
        return run_on(database_url, "merchant", "set", shop.business_id, *options, **environment)

    return run


def run_on(database_url: str, *arguments: str, **environment: str) -> tuple[int, str]:
    """In this process, since there are many; other tests start the real one."""
    done = CliRunner().invoke(main, arguments, env={"DATABASE_URL": database_url, **environment})
    return done.exit_code, done.output


def brand_in(answer: tuple[int, str]) -> dict[str, Any]:
    code, said = answer
    assert code == 0, said
    facts = json.loads(said)
    return {name: facts[name] for name in NOTHING}


@pytest.fixture
def logo_file(tmp_path: Path) -> Path:
    # What a file is called says nothing.
    path = tmp_path / "logo.svg"
    path.write_bytes(pictures.WEBP)
    return path


def test_a_brand_is_set_listed_and_taken_away(set_: Set, database_url: str, shop: Shop, logo_file: Path) -> None:
    chosen = {
        "accentColour": "#7c3aed",
        "logoHash": logo_from(pictures.WEBP).hash,
        "supportEmail": "help@example.com",
        "supportPhone": "+2348012345678",
        "supportUrl": "http://localhost:3000/help",
    }
    options = (
        "--accent", "7C3AED", "--logo", str(logo_file), "--support-email", "help@example.com",
        "--support-phone", "+234 801 234 5678", "--support-url", "http://localhost:3000/help", "--json",
    )  # fmt: skip
    assert brand_in(set_(*options)) == chosen
    code, said = run_on(database_url, "merchant", "list", "--json")
    listed = next(business for business in json.loads(said) if business["businessId"] == shop.business_id)
    assert (code, {name: listed[name] for name in chosen}) == (0, chosen)
    _, table = run_on(database_url, "merchant", "list", COLUMNS="160")
    assert "■ Test Shop" in table
    assert "#7c3aed, logo" in table

    assert brand_in(set_("--accent", "", "--json")) == {**chosen, "accentColour": None}
    emptied = ("--support-email", "", "--support-phone", "", "--support-url", "", "--no-logo", "--json")
    assert brand_in(set_(*emptied)) == NOTHING


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--accent", "red"], "--accent must be a colour such as '#0f7b6c'"),
        (["--support-email", "nobody"], "--support-email must be an e-mail address"),
        (["--support-phone", "0801 234 5678"], "--support-phone must be a phone number in international form"),
        (["--support-phone", "+1 800 FLOWERS"], "--support-phone must be a phone number in international form"),
        (["--support-phone", "+1234567"], "--support-phone must be a phone number in international form"),
        (["--support-url", "javascript:alert(1)"], "--support-url must be an absolute http or https address"),
        (["--support-url", "https://shop.example.com@evil.example"], "--support-url must not contain a user name"),
        (["--name", ""], "--name must not be empty"),
        (["--email", "nobody"], "--email must be an e-mail address"),
        (["--logo", "FILE", "--no-logo"], "contradict each other"),
    ],
)
def test_a_mistake_is_said_in_a_sentence_and_changes_nothing(
    set_: Set, options: list[str], expected: str, logo_file: Path
) -> None:
    options = [str(logo_file) if option == "FILE" else option for option in options]
    code, said = set_("--session-minutes", "45", *options)
    assert code == 1
    assert expected in said
    code, said = set_("--rate-burst", "7", "--json")
    facts = json.loads(said)
    assert (facts["name"], facts["email"], facts["sessionMinutes"]) == ("Test Shop", "shop@example.com", 120)
    assert {name: facts[name] for name in NOTHING} == NOTHING


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"<svg onload='alert(1)'/>", "logo must not be SVG, which can carry script"),
        (b"<html>" + pictures.JPEG, "logo must be a PNG, JPEG or WebP image"),
        (bytes(10_000_000), "logo must have at most 100 kB"),
    ],
    ids=["svg", "polyglot", "large"],
)
def test_a_refused_logo_changes_nothing_else(set_: Set, tmp_path: Path, body: bytes, expected: str) -> None:
    path = tmp_path / "logo.png"
    path.write_bytes(body)
    code, said = set_("--accent", "#7c3aed", "--logo", str(path))
    assert (code, expected in said, "Traceback" in said) == (1, True, False)
    assert brand_in(set_("--rate-burst", "7", "--json")) == NOTHING


def test_a_file_that_is_not_there_is_said_in_a_sentence(set_: Set, tmp_path: Path) -> None:
    code, said = set_("--logo", str(tmp_path / "none.png"))
    assert (code, "No such file" in said, "Traceback" in said) == (2, True, False)


@pytest.mark.parametrize(
    ("accent", "expected"),
    [
        ("#ffffff", "#ffffff is shown as #707070 in links."),
        ("#0f7b6c", "#0f7b6c is shown as #4bd0ba on dark screens."),
        ("#ff0000", "#ff0000 is shown as #ec0000 on buttons, #e20000 in links, #ff9687 on dark screens."),
    ],
)
def test_an_accent_that_has_to_change_to_be_read_is_said(set_: Set, accent: str, expected: str) -> None:
    code, said = set_("--accent", accent)
    assert code == 0, said
    assert f"For sufficient contrast {expected}" in said
    assert f"accentColour           {accent}\n" in said


def test_what_is_shown_to_people_is_shown_whole(set_: Set) -> None:
    code, said = set_("--support-url", "http://[fe80::1]/help", "--name", "[red]Shop[/red]")
    assert code == 0, said
    assert "http://[fe80::1]/help" in said
    assert "[red]Shop[/red]" in said


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://shop.example.com/help", "--support-url must be an https address."),
        ("https://localhost/help", "--support-url must have a public host, not a local or private address."),
    ],
)
def test_in_live_mode_support_is_where_customers_can_safely_go(
    url: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked({"support_url": url}, Mode.SANDBOX) == {"support_url": url}
    with pytest.raises(SystemExit):
        checked({"support_url": url}, Mode.LIVE)
    assert expected in capsys.readouterr().err
