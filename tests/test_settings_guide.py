from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from tidegate.cli import main
from tidegate.cli.init import settings_in
from tidegate.core.ids import Mode
from tidegate.settings import LIVE_RAILS, Settings, WrongSettings, from_environment
from tidegate.settings_guide.file import SECTIONS
from tidegate.settings_guide.model import SettingRow

ROOT = Path(__file__).parent.parent
ROWS = {row.name: row for section in SECTIONS for row in section.rows}
# What an operator fills in by hand: of each rail what its provider has given out.
GIVEN_BY_PROVIDERS = {
    "TIDEGATE_PAYSTACK_SECRET_KEY": "sk_live_0123456789abcdef",
    "TIDEGATE_PAWAPAY_TOKEN": "a-token-of-their-dashboard",
    "TIDEGATE_BANKFILES_ACCOUNTS": str(ROOT / "examples" / "bank-accounts.toml"),
}
PLACES = "rails.py when it is a rail's, general.py otherwise"


class Asked(Mapping[str, str]):
    """An environment that remembers which names were asked for."""

    def __init__(self, **values: str) -> None:
        self._values, self.names = values, set[str]()

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def test_every_setting_has_a_row_in_the_guide() -> None:
    asked = Asked(TIDEGATE_MODE="live", TIDEGATE_RAILS=" ".join(LIVE_RAILS))
    with pytest.raises(WrongSettings):
        from_environment(asked)
    missing = asked.names - set(ROWS)
    assert not missing, f"add a SettingRow for each of {sorted(missing)} in src/tidegate/settings_guide/: {PLACES}"
    extra = set(ROWS) - asked.names
    assert not extra, f"no setting reads {sorted(extra)}: remove their rows from src/tidegate/settings_guide/"


def test_every_setting_is_in_the_table_of_the_readme() -> None:
    table = "\n".join(line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("| `"))
    missing = [name for name in ROWS if f"`{name}`" not in table]
    assert not missing, f"add {missing} to the table of variables in README.md, section Run it for others"


def test_every_live_rail_has_a_section() -> None:
    missing = set(LIVE_RAILS) - {section.rail for section in SECTIONS}
    assert not missing, f"add a SettingSection with rail= for {sorted(missing)} in src/tidegate/settings_guide/rails.py"


def write(folder: Path, *options: str) -> Path:
    file = folder / "tidegate.env"
    done = CliRunner().invoke(main, ["init", str(file), *options])
    assert done.exit_code == 0, done.output
    return file


def filled(file: Path) -> dict[str, str]:
    """As the operator fills it in."""
    settings = settings_in(file.read_text())
    empty = {name for name, value in settings.items() if not value}
    assert empty <= set(GIVEN_BY_PROVIDERS), f"add a value for {empty} to GIVEN_BY_PROVIDERS in {__file__}"
    return settings | {name: GIVEN_BY_PROVIDERS[name] for name in empty}


def test_the_written_file_starts_live_mode_once_the_providers_secrets_are_filled_in(tmp_path: Path) -> None:
    file = write(tmp_path, "--base-url", "https://pay.shop.example/", "--database-host", "db.shop.example:5433")
    settings = from_environment(filled(file))
    assert settings.mode is Mode.LIVE
    assert settings.base_url == "https://pay.shop.example"
    assert settings.security_contact == "mailto:security@pay.shop.example"
    assert "@db.shop.example:5433/tidegate?sslmode=verify-full" in (settings.database_url or "")
    assert len(settings.encryption_keys) == 1
    assert settings.rails == LIVE_RAILS


def test_a_database_on_this_machine_is_reached_without_tls(tmp_path: Path) -> None:
    settings = from_environment(filled(write(tmp_path, "--database-host", "localhost:6432")))
    assert (settings.database_url or "").endswith("@localhost:6432/tidegate")


def test_the_file_has_every_setting_and_its_meaning(tmp_path: Path) -> None:
    text = write(tmp_path).read_text()
    named = re.findall(r"^#?([A-Z][A-Z_]+)=", text, flags=re.MULTILINE)
    assert sorted(named) == sorted(ROWS)
    assert all(len(line) <= 120 for line in text.splitlines())
    assert all(row.meaning[-1] == "." for row in ROWS.values())


def test_a_value_means_the_same_to_a_shell_to_systemd_and_to_a_container(tmp_path: Path) -> None:
    values = settings_in(write(tmp_path).read_text()).values()
    assert [value for value in values if re.search(r"[\s\"'#$&;<>()|\\`]", value)] == []


def test_secrets_are_fresh_and_only_the_owner_can_read_them(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    first, second = write(tmp_path), write(tmp_path / "other")
    assert first.stat().st_mode & 0o777 == 0o600
    for name in ("TIDEGATE_ENCRYPTION_KEY", "DATABASE_URL"):
        assert settings_in(first.read_text())[name] != settings_in(second.read_text())[name]


def test_a_file_that_exists_is_not_changed(tmp_path: Path) -> None:
    before = write(tmp_path).read_text()
    done = CliRunner().invoke(main, ["init", str(tmp_path / "tidegate.env")])
    assert done.exit_code == 1
    assert (tmp_path / "tidegate.env").read_text() == before


def test_what_is_left_to_fill_in_is_said_and_no_secret_is_printed(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["init", str(tmp_path / "x.env"), "--rail", "paystack"])
    assert "TIDEGATE_PAYSTACK_SECRET_KEY must be" in done.output
    assert settings_in((tmp_path / "x.env").read_text())["TIDEGATE_ENCRYPTION_KEY"] not in done.output


@pytest.mark.parametrize("row", [row for row in ROWS.values() if row.usual], ids=lambda row: row.name)
def test_the_value_behind_a_number_sign_is_what_holds_without_it(row: SettingRow, tmp_path: Path) -> None:
    base = filled(write(tmp_path))
    base.pop(row.name, None)

    def with_value(**more: str) -> Settings:
        return from_environment({**base, **more})

    assert with_value(**{row.name: row.usual}) == with_value(), f"{row.name} has another default than the guide says"
