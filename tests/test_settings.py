from __future__ import annotations

import pytest

from tidegate.core.ids import Mode
from tidegate.settings import WrongSettings, from_environment

LIVE = {
    "TIDEGATE_MODE": "live",
    "TIDEGATE_BASE_URL": "https://api.example.com",
    "DATABASE_URL": "postgresql://tidegate:correct-horse@db.example.com/tidegate",
    "TIDEGATE_ENCRYPTION_KEY": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
}


def test_nothing_needs_to_be_set_for_a_sandbox() -> None:
    settings = from_environment({})
    assert settings.mode is Mode.SANDBOX
    assert settings.base_url == "http://localhost:8080"
    assert settings.checkout_url == "http://localhost:8080/pay"
    assert settings.database_url is None


def test_the_base_address_follows_the_port() -> None:
    assert from_environment({"PORT": "9000"}).base_url == "http://localhost:9000"


def test_live_mode_without_a_rail_is_refused_and_nothing_else_is_complained_about() -> None:
    with pytest.raises(WrongSettings) as wrong:
        from_environment(LIVE)
    assert [problem.split()[0] for problem in wrong.value.problems] == ["TIDEGATE_RAILS"]


def test_a_rail_nobody_knows_is_named() -> None:
    with pytest.raises(WrongSettings, match="'sandbox', which is no rail"):
        from_environment({**LIVE, "TIDEGATE_RAILS": "sandbox"})


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"TIDEGATE_BASE_URL": "http://api.example.com"}, "https://"),
        ({"DATABASE_URL": ""}, "DATABASE_URL must be set"),
        ({"DATABASE_URL": "postgresql://tidegate:password@db/tidegate"}, "example password"),
        ({"TIDEGATE_BASE_URL": "api.example.com"}, "must be an address"),
        ({"TIDEGATE_ENCRYPTION_KEY": ""}, "TIDEGATE_ENCRYPTION_KEY must be set"),
        ({"TIDEGATE_ENCRYPTION_KEY": "c2hvcnQ="}, "32 bytes in base64"),
        ({"TIDEGATE_ENCRYPTION_KEY": "not base64"}, "32 bytes in base64"),
    ],
)
def test_unsafe_live_settings_are_refused(change: dict[str, str], complaint: str) -> None:
    with pytest.raises(WrongSettings, match=complaint):
        from_environment({**LIVE, **change})


def test_every_mistake_is_listed_at_once() -> None:
    with pytest.raises(WrongSettings) as wrong:
        from_environment({"PORT": "http", "TIDEGATE_MODE": "prod", "TIDEGATE_LOG": "xml", "TIDEGATE_BASE_URL": "x"})
    assert len(wrong.value.problems) == 4


def test_settings_never_show_the_database_password() -> None:
    settings = from_environment({"DATABASE_URL": LIVE["DATABASE_URL"]})
    assert "correct-horse" not in repr(settings)


def test_several_keys_may_open_and_none_is_shown() -> None:
    key = LIVE["TIDEGATE_ENCRYPTION_KEY"]
    settings = from_environment({"TIDEGATE_ENCRYPTION_KEY": f"{key} {'A' * 43}="})
    assert settings.encryption_keys == (b"0123456789abcdef0123456789abcdef", bytes(32))
    assert "0123456789abcdef" not in repr(settings)
