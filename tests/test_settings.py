from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tidegate.core.ids import Mode
from tidegate.core.money import Currency
from tidegate.retention_settings import RetentionDays
from tidegate.settings import SANDBOX_CONTACT, WrongSettings, from_environment

LIVE = {
    "TIDEGATE_MODE": "live",
    "TIDEGATE_BASE_URL": "https://api.example.com",
    "DATABASE_URL": "postgresql://tidegate:correct-horse@db.example.com/tidegate?sslmode=verify-full",
    "TIDEGATE_ENCRYPTION_KEY": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
}
OTHER_KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


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


def test_an_unknown_rail_is_named() -> None:
    with pytest.raises(WrongSettings, match="'sandbox', which is not a rail"):
        from_environment({**LIVE, "TIDEGATE_RAILS": "sandbox"})


REHEARSED = {
    **LIVE,
    "TIDEGATE_BASE_URL": "http://127.0.0.1:8080",
    "TIDEGATE_RAILS": "paystack pawapay",
    "TIDEGATE_PAYSTACK_SECRET_KEY": "sk_test_emulated0000",
    "TIDEGATE_PAYSTACK_BASE_URL": "http://127.0.0.1:9301",
    "TIDEGATE_PAWAPAY_TOKEN": "emulated-pawapay-token",
    "TIDEGATE_PAWAPAY_BASE_URL": "http://127.0.0.1:9311",
}


def test_live_mode_is_rehearsed_on_one_machine_only_with_emulated_rails() -> None:
    rehearsed = from_environment({**REHEARSED, "TIDEGATE_CONSOLE_URL": "http://localhost:8080"})
    assert (rehearsed.base_url, rehearsed.console_address) == ("http://127.0.0.1:8080", "http://localhost:8080")
    # Merchants' servers are on this machine too.
    assert rehearsed.webhook_mode is Mode.SANDBOX
    assert from_environment({**REHEARSED, "TIDEGATE_BASE_URL": "https://pay.example.com"}).webhook_mode is Mode.LIVE
    for change in (
        {"TIDEGATE_BASE_URL": "http://pay.example.com"},
        {"TIDEGATE_PAWAPAY_BASE_URL": "https://api.pawapay.io"},
    ):
        with pytest.raises(WrongSettings, match="TIDEGATE_BASE_URL must begin with https"):
            from_environment({**REHEARSED, **change})
    for change in (
        {"TIDEGATE_CONSOLE_URL": "http://console.example.com"},
        {"TIDEGATE_CONSOLE_URL": "http://localhost:8080", "TIDEGATE_PAWAPAY_BASE_URL": "https://api.pawapay.io"},
    ):
        with pytest.raises(WrongSettings, match="TIDEGATE_CONSOLE_URL must begin with https"):
            from_environment({**REHEARSED, **change})


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
        ({"TIDEGATE_ENCRYPTION_KEY": f"{'A' * 43}="}, "is not a random key"),
        ({"TIDEGATE_ENCRYPTION_KEY": "YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="}, "is not a random key"),
        ({"DATABASE_URL": "postgresql://u:correct-horse@db.example.com/tidegate"}, "must require TLS"),
        ({"DATABASE_URL": "postgresql://u:correct-horse@db/tidegate?sslmode=prefer"}, "must require TLS"),
        ({"DATABASE_URL": "postgresql://u@/tidegate?host=db.example.com"}, "must require TLS"),
        ({"DATABASE_URL": "postgresql://u:correct-horse@127.0.0.1,db.example.com/tidegate"}, "must require TLS"),
        ({"TIDEGATE_SECURITY_CONTACT": "somebody"}, "TIDEGATE_SECURITY_CONTACT must be"),
    ],
)
def test_unsafe_live_settings_are_refused(change: dict[str, str], complaint: str) -> None:
    with pytest.raises(WrongSettings, match=complaint):
        from_environment({**LIVE, **change})


def test_every_mistake_is_listed_at_once() -> None:
    with pytest.raises(WrongSettings) as wrong:
        from_environment({"PORT": "http", "TIDEGATE_MODE": "prod", "TIDEGATE_LOG": "xml", "TIDEGATE_BASE_URL": "x"})
    assert len(wrong.value.problems) == 4


def test_every_reason_not_to_move_money_is_listed_at_once() -> None:
    unsafe = {
        "TIDEGATE_MODE": "live",
        "TIDEGATE_BASE_URL": "http://pay.example.com",
        "DATABASE_URL": "postgresql://tidegate:password@db.example.com/tidegate",
        "TIDEGATE_RAILS": "paystack pawapay bankfiles sandbox",
        "TIDEGATE_PAYSTACK_SECRET_KEY": "sk_test_0123456789abcdef",
    }
    with pytest.raises(WrongSettings) as wrong:
        from_environment(unsafe)
    assert {problem.split()[0] for problem in wrong.value.problems} == {
        "TIDEGATE_BASE_URL", "DATABASE_URL", "TIDEGATE_ENCRYPTION_KEY", "TIDEGATE_RAILS",
        "TIDEGATE_PAYSTACK_SECRET_KEY", "TIDEGATE_PAWAPAY_TOKEN", "TIDEGATE_BANKFILES_DIR",
        "TIDEGATE_BANKFILES_ACCOUNTS",
    }  # fmt: skip


def test_settings_never_show_the_database_password() -> None:
    settings = from_environment({"DATABASE_URL": LIVE["DATABASE_URL"]})
    assert "correct-horse" not in repr(settings)


def test_several_keys_may_open_and_none_is_shown() -> None:
    key = LIVE["TIDEGATE_ENCRYPTION_KEY"]
    settings = from_environment({"TIDEGATE_ENCRYPTION_KEY": f"{key},{OTHER_KEY}"})
    assert settings.encryption_keys == (b"0123456789abcdef0123456789abcdef", bytes(range(32)))
    assert "0123456789abcdef" not in repr(settings)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:correct-horse@db.example.com/tidegate?sslmode=require",
        "postgresql://u:correct-horse@a.example.com,b.example.com/tidegate?sslmode=verify-ca",
        "postgresql://u@/tidegate?host=/run/postgresql",
        "postgresql://u@%2Frun%2Fpostgresql/tidegate",
        "postgresql://u:correct-horse@127.0.0.1:6432/tidegate",
        "postgresql://u:correct-horse@[::1]:6432/tidegate",
        "postgresql:///tidegate",
    ],
)
def test_in_live_mode_a_database_is_reached_by_tls_or_on_this_machine(url: str) -> None:
    with pytest.raises(WrongSettings) as wrong:
        from_environment({**LIVE, "DATABASE_URL": url})
    assert [problem.split()[0] for problem in wrong.value.problems] == ["TIDEGATE_RAILS"]


def test_a_weak_key_is_refused_in_the_sandbox_too() -> None:
    with pytest.raises(WrongSettings, match="is not a random key"):
        from_environment({"TIDEGATE_ENCRYPTION_KEY": f"{'A' * 43}="})


def test_the_name_of_the_operator_is_one_line() -> None:
    assert from_environment({"TIDEGATE_OPERATOR_NAME": " Ada Payments "}).operator_name == "Ada Payments"
    for wrong in ("Ada\nPayments", "a" * 101):
        with pytest.raises(WrongSettings, match="TIDEGATE_OPERATOR_NAME must be one line of at most 100 characters"):
            from_environment({"TIDEGATE_OPERATOR_NAME": wrong})


def test_the_reference_is_shown_in_the_sandbox_and_on_demand_in_live_mode() -> None:
    assert from_environment({}).has_docs
    assert not from_environment({"TIDEGATE_DOCS": "off"}).has_docs
    assert (
        from_environment({"TIDEGATE_SECURITY_CONTACT": "safe@example.com"}).security_contact
        == "mailto:safe@example.com"
    )
    assert from_environment({}).security_contact == SANDBOX_CONTACT


PAYSTACK = {**LIVE, "TIDEGATE_RAILS": "paystack", "TIDEGATE_PAYSTACK_SECRET_KEY": "sk_live_0123456789abcdef"}


def test_live_mode_starts_with_paystack_and_its_usual_settings() -> None:
    paystack = from_environment(PAYSTACK).paystack
    assert paystack is not None
    assert (paystack.base_url, paystack.domain, len(paystack.webhook_ips)) == ("https://api.paystack.co", "live", 3)
    assert "sk_live" not in repr(from_environment(PAYSTACK))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"TIDEGATE_PAYSTACK_SECRET_KEY": ""}, "must be a secret key of Paystack"),
        ({"TIDEGATE_PAYSTACK_SECRET_KEY": "pk_live_0123456789abcdef"}, "must be a secret key of Paystack"),
        ({"TIDEGATE_PAYSTACK_SECRET_KEY": "sk_test_0123456789abcdef"}, "is a test key"),
        ({"TIDEGATE_PAYSTACK_SECRET_KEY_OLD": "old"}, "_OLD must be a secret key of Paystack"),
        ({"TIDEGATE_PAYSTACK_SECRET_KEY_OLD": "sk_test_0123456789abcdef"}, "_OLD must be of the same mode"),
        ({"TIDEGATE_PAYSTACK_BASE_URL": "http://api.paystack.co"}, "must begin with https://"),
        ({"TIDEGATE_PAYSTACK_CURRENCIES": "NGN UGX"}, "must name currencies of"),
        ({"TIDEGATE_PAYSTACK_WEBHOOK_IPS": "paystack.co"}, "must be IP addresses"),
        ({"TIDEGATE_PAYSTACK_PESALINK": "maybe"}, "must be one of yes, no"),
    ],
)
def test_wrong_settings_of_paystack_are_refused(change: dict[str, str], complaint: str) -> None:
    with pytest.raises(WrongSettings, match=complaint):
        from_environment({**PAYSTACK, **change})


def signing_key(curve: ec.EllipticCurve) -> str:
    key = ec.generate_private_key(curve)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


PAWAPAY = {**LIVE, "TIDEGATE_RAILS": "pawapay", "TIDEGATE_PAWAPAY_TOKEN": "eyJraWQiOiIxIiwiYWxnIjoiRVMyNTYifQ"}
SIGNING = {"TIDEGATE_PAWAPAY_SIGNING_KEY": signing_key(ec.SECP256R1()), "TIDEGATE_PAWAPAY_SIGNING_KEY_ID": "KEY:1"}


def test_live_mode_starts_with_pawapay_and_its_usual_settings() -> None:
    pawapay = from_environment(PAWAPAY).pawapay
    assert pawapay is not None
    assert (pawapay.base_url, pawapay.signing_key) == ("https://api.pawapay.io", None)
    assert "eyJ" not in repr(from_environment(PAWAPAY))


def test_all_settings_reach_the_processes_that_the_service_starts() -> None:
    settings = from_environment({**PAYSTACK, **PAWAPAY, **SIGNING, "TIDEGATE_RAILS": "paystack pawapay"})
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_a_signing_key_may_have_its_line_breaks_written() -> None:
    written = {**SIGNING, "TIDEGATE_PAWAPAY_SIGNING_KEY": SIGNING["TIDEGATE_PAWAPAY_SIGNING_KEY"].replace("\n", "\\n")}
    for given in (SIGNING, written):
        pawapay = from_environment({**PAWAPAY, **given}).pawapay
        assert pawapay is not None
        assert pawapay.signing_key is not None


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"TIDEGATE_PAWAPAY_TOKEN": ""}, "must be an API token of pawaPay"),
        ({"TIDEGATE_PAWAPAY_TOKEN": "has a space in it"}, "must be an API token of pawaPay"),
        ({"TIDEGATE_PAWAPAY_BASE_URL": "http://api.pawapay.io"}, "must begin with https://"),
        ({"TIDEGATE_PAWAPAY_BASE_URL": "https://api.sandbox.pawapay.io"}, "is pawaPay's sandbox"),
        ({**SIGNING, "TIDEGATE_PAWAPAY_SIGNING_KEY_ID": ""}, "must be set together"),
        ({**SIGNING, "TIDEGATE_PAWAPAY_SIGNING_KEY": ""}, "must be set together"),
        ({**SIGNING, "TIDEGATE_PAWAPAY_SIGNING_KEY_ID": 'a"b'}, "must be set together"),
        ({**SIGNING, "TIDEGATE_PAWAPAY_SIGNING_KEY": "not a key"}, "must be an EC P-256 private key"),
        ({**SIGNING, "TIDEGATE_PAWAPAY_SIGNING_KEY": signing_key(ec.SECP384R1())}, "must be an EC P-256 private key"),
    ],
)
def test_wrong_settings_of_pawapay_are_refused(change: dict[str, str], complaint: str) -> None:
    with pytest.raises(WrongSettings, match=complaint):
        from_environment({**PAWAPAY, **change})


def test_an_emulated_paystack_on_this_machine_takes_a_test_key() -> None:
    change = {
        "TIDEGATE_PAYSTACK_BASE_URL": "http://127.0.0.1:9301",
        "TIDEGATE_PAYSTACK_SECRET_KEY": "sk_test_0123456789",
        "TIDEGATE_PAYSTACK_WEBHOOK_IPS": "any",
    }
    paystack = from_environment({**PAYSTACK, **change}).paystack
    assert paystack is not None
    assert (paystack.domain, paystack.webhook_ips) == ("test", ())


def test_how_long_rows_are_kept_is_a_setting_of_each_kind() -> None:
    assert from_environment({}).retention == RetentionDays()
    given = {
        "TIDEGATE_KEEP_EVENTS_DAYS": "60",
        "TIDEGATE_KEEP_SANDBOX_DAYS": "0",
        "TIDEGATE_KEEP_NOTIFICATIONS_DAYS": "",
        "TIDEGATE_KEEP_REQUESTS_DAYS": "1",
        "TIDEGATE_KEEP_FAILED_REQUESTS_DAYS": "14",
    }
    kept = from_environment(given).retention
    assert (kept.events, kept.sandbox, kept.notifications) == (60, 0, 0)
    assert (kept.requests, kept.failed_requests) == (1, 14)
    assert kept.idempotency_keys == 30


@pytest.mark.parametrize("days", ["29", "-1", "36501", "a year", "1.5"])
def test_rows_are_kept_no_shorter_than_the_minimum_of_their_kind(days: str) -> None:
    with pytest.raises(WrongSettings, match=r"TIDEGATE_KEEP_IDEMPOTENCY_KEYS_DAYS must be .* from 30 to 36500, or 0"):
        from_environment({"TIDEGATE_KEEP_IDEMPOTENCY_KEYS_DAYS": days})


def test_mail_is_sent_where_a_server_is_set_and_its_password_is_not_shown() -> None:
    assert from_environment({}).mail is None
    given = {
        "TIDEGATE_SMTP_URL": "smtps://ada:s%40fe@mail.example.com",
        "TIDEGATE_MAIL_FROM": "Shop <no-reply@x.example>",
    }
    mail = from_environment(given).mail
    assert mail is not None
    assert (mail.host, mail.port, mail.is_tls, mail.user, mail.password) == (
        "mail.example.com",
        465,
        True,
        "ada",
        "s@fe",
    )
    assert "s@fe" not in repr(mail)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"TIDEGATE_SMTP_URL": "mail.example.com"}, "TIDEGATE_SMTP_URL must be"),
        ({"TIDEGATE_SMTP_URL": "https://mail.example.com"}, "TIDEGATE_SMTP_URL must be"),
        ({"TIDEGATE_SMTP_URL": "smtp://mail.example.com"}, "TIDEGATE_MAIL_FROM must be"),
        (
            {"TIDEGATE_SMTP_URL": "smtp://mail.example.com", "TIDEGATE_MAIL_FROM": "nobody"},
            "TIDEGATE_MAIL_FROM must be",
        ),
    ],
)
def test_wrong_settings_of_mail_are_refused(change: dict[str, str], complaint: str) -> None:
    with pytest.raises(WrongSettings, match=complaint):
        from_environment(change)


ACCOUNTS = """
[[account]]
number = "DE89 3704 0044 0532 0130 00"
currency = "EUR"
holder = "Tidegate GmbH"
bank_name = "Example Bank"
bic = "COBADEFFXXX"
country = "de"
payee_name = "typed"
virtual_numbers = ["DE02120300000000202051"]

[[account]]
number = "9030001234567"
currency = "UGX"
holder = "Tidegate Uganda"
bank_name = "Kampala Bank"
country = "UG"
checkout = true
"""


def bank_files(folder: Path, accounts: str = ACCOUNTS) -> dict[str, str]:
    path = folder / "accounts.toml"
    path.write_text(accounts)
    names = {"TIDEGATE_BANKFILES_DIR": str(folder), "TIDEGATE_BANKFILES_ACCOUNTS": str(path)}
    return {**LIVE, "TIDEGATE_RAILS": "bankfiles", **names}


def test_live_mode_starts_with_bank_files(tmp_path: Path) -> None:
    found = from_environment(bank_files(tmp_path)).bankfiles
    assert found is not None
    euro, shilling = found.accounts
    assert (euro.number, euro.country, euro.has_typed_names) == ("DE89370400440532013000", "DE", True)
    assert found.checkout_account(Currency.UGX) == shilling
    assert found.account_of("DE02120300000000202051") == euro
    assert found.account_of("DE00") is None


def test_bank_files_need_a_folder_and_accounts() -> None:
    with pytest.raises(WrongSettings) as wrong:
        from_environment({**LIVE, "TIDEGATE_RAILS": "bankfiles"})
    assert [problem.split()[0] for problem in wrong.value.problems] == [
        "TIDEGATE_BANKFILES_DIR",
        "TIDEGATE_BANKFILES_ACCOUNTS",
    ]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('country = "de"', "", "account 1: country must be given"),
        ('currency = "EUR"', 'currency = "XXX"', "currency must be one of"),
        ("DE89 3704", "DE88 3704", "begins like an IBAN and is none"),
        ('"typed"', '"yes"', "payee_name must be one of"),
        ("COBADEFFXXX", "COBA", "must be a BIC"),
        ('country = "UG"', 'country = "UG"\ncolour = "red"', "colour is not known"),
        ('currency = "UGX"', 'currency = "USD"', "checkout needs a currency of"),
        ('"9030001234567"', '"DE02120300000000202051"', "stands there twice"),
        ("[[account]]", "[[account", "cannot be read"),
        ('["DE02120300000000202051"]', '"DE02120300000000202051"', "virtual_numbers must be a list"),
        ("checkout = true", 'checkout = "yes"', "checkout must be true or false"),
        ("checkout = true", 'pain_version = "9"', "pain_version must be a whole number"),
        (ACCOUNTS, "account = [1]", "must be a table"),
        (ACCOUNTS, "", "must name a file"),
    ],
)
def test_mistakes_in_the_accounts_are_told(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    with pytest.raises(WrongSettings, match=complaint):
        from_environment(bank_files(tmp_path, ACCOUNTS.replace(old, new)))
