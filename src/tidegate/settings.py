"""Every setting, typed, from the environment, read once."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tidegate.bank_settings import BankFilesSettings
from tidegate.core.ids import Mode
from tidegate.mail_settings import MailSettings
from tidegate.rail_settings import PawapaySettings, PaystackSettings, is_loopback
from tidegate.retention_settings import RetentionDays
from tidegate.settings_reader import SettingsReader

# The rails that move real money, as `TIDEGATE_RAILS` names them, and what reads their own settings: the field of the
# rail's name in `Settings`.
_RAIL_SETTINGS: Mapping[str, Callable[[SettingsReader], Any]] = {
    "paystack": PaystackSettings.read,
    "pawapay": PawapaySettings.read,
    "bankfiles": BankFilesSettings.read,
}
LIVE_RAILS: tuple[str, ...] = tuple(_RAIL_SETTINGS)
_ENCRYPTED = frozenset({"require", "verify-ca", "verify-full"})
_EXAMPLE_PASSWORDS = frozenset({"", "changeme", "example", "password", "postgres", "secret", "tidegate"})


class WrongSettings(Exception):
    """Lists every problem, one sentence per line."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, kw_only=True)
class Settings:
    mode: Mode = Mode.SANDBOX
    # May hold a password, so it is excluded from repr.
    database_url: str | None = field(default=None, repr=False)
    # True behind a transaction pooler; `direct_url` is the same database without it.
    is_pooled: bool = False
    direct_url: str | None = field(default=None, repr=False)
    host: str = "127.0.0.1"
    port: int = 8080
    base_url: str = "http://localhost:8080"
    ussd_method: str = "payAttitude"
    home: Path = Path(".tidegate")
    postgres_bin: Path | None = None
    log_as_json: bool = True
    log_level: str = "info"
    drain_s: float = 0.0
    connections_max: int = 10
    # Shared by the API's processes; `tidegate serve` makes it.
    rate_limit_file: Path | None = None
    # In the order in which they are preferred.
    rails: tuple[str, ...] = ()
    # Of the rails that are named.
    paystack: PaystackSettings | None = None
    pawapay: PawapaySettings | None = None
    bankfiles: BankFilesSettings | None = None
    # Number of our own proxies that append to X-Forwarded-For.
    trusted_proxies: int = 0
    # Encryption keys of webhook secrets; the first encrypts, all decrypt.
    encryption_keys: tuple[bytes, ...] = field(default=(), repr=False)
    # Port of the metrics, separate from the API; 0 for none.
    metrics_port: int = 0
    # Where an OpenTelemetry collector takes traces; empty for none.
    traces_url: str = ""
    # Inflows from this amount, in major units, are held for review; 0 for none.
    review_inflows_from: int = 0
    # A held inflow is returned after this many days.
    hold_days: int = 3
    rate_lasts_minutes: int = 60
    retention: RetentionDays = field(default_factory=RetentionDays)
    # None when there is no mail server: then nothing is sent.
    mail: MailSettings | None = None
    # Per address: mobile carriers put thousands of payers behind one.
    address_reads_per_second: int = 200
    address_writes_per_second: int = 50
    address_declines_per_hour: int = 600
    address_streams: int = 500
    business_declines_per_hour: int = 3_600
    # In a sandbox all payers share a few test cards.
    card_declines_per_hour: int = 100_000
    # Host names answered besides that of the base URL.
    hosts: tuple[str, ...] = ()
    # The operator's console: its own address, and who may reach it. In live mode there is none without an address.
    console_url: str = ""
    console_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    # Where alarms are posted; empty for nowhere.
    alarm_url: str = ""
    # /docs and /openapi.json.
    has_docs: bool = True
    # Of the company that runs the service, on its front page; empty for the program's.
    operator_name: str = ""
    # Of that company, as a URI, for payers and merchants; on the front page.
    operator_contact: str = ""
    # Contact in security.txt, as a URI.
    security_contact: str = ""

    @property
    def console_address(self) -> str:
        """Empty where there is no console."""
        return self.console_url or (self.base_url if self.mode is Mode.SANDBOX else "")

    @property
    def without_pooler(self) -> Settings:
        """Where possible: for work that runs longer than a pooler allows."""
        return replace(self, database_url=self.direct_url, is_pooled=False) if self.direct_url else self

    @property
    def checkout_url(self) -> str:
        return f"{self.base_url}/pay"

    @property
    def links_url(self) -> str:
        return f"{self.base_url}/link"

    @property
    def database_urls(self) -> list[tuple[str, str]]:
        """Those that are set, with the names of their variables."""
        named = (("DATABASE_URL", self.database_url), ("DATABASE_DIRECT_URL", self.direct_url))
        return [(name, url) for name, url in named if url is not None]

    @property
    def is_rehearsed(self) -> bool:
        """Live mode tried on one machine: no payer comes from elsewhere, and no provider is called."""
        of_rails: list[Any] = [getattr(self, name, None) for name in self.rails]
        apis = [one.base_url for one in of_rails if hasattr(one, "base_url")]
        return bool(apis) and all(is_loopback(url) for url in (self.base_url, *apis))

    @property
    def webhook_mode(self) -> Mode:
        """By whose rules merchants' servers are called: in a rehearsal they are on this machine, as in a sandbox."""
        return Mode.SANDBOX if self.is_rehearsed else self.mode

    @property
    def own_ports(self) -> frozenset[int]:
        """The ports this service listens on; 0 is not a port."""
        return frozenset({self.port, self.metrics_port} - {0})

    def on_port(self, port: int) -> Settings:
        """With the port that the system chose for port 0. A configured base URL stays."""
        is_default = self.base_url == default_base_url(self.port)
        return replace(self, port=port, base_url=default_base_url(port) if is_default else self.base_url)


OPERATOR_NAME_CHARS_MAX = 100
# No mail goes there; a sandbox shows what the file of a live deployment looks like.
SANDBOX_CONTACT = "mailto:security@localhost"


def default_base_url(port: int) -> str:
    return f"http://localhost:{port}"


def from_environment(environment: Mapping[str, str] = os.environ) -> Settings:
    read = SettingsReader(environment)
    mode = Mode(read.choice("TIDEGATE_MODE", [mode.value for mode in Mode], default=Mode.SANDBOX.value))
    port = read.number("PORT", default=8080, at_most=65_535)
    rails = tuple(dict.fromkeys(read.text("TIDEGATE_RAILS").replace(",", " ").split()))
    settings = Settings(
        mode=mode,
        database_url=read.text("DATABASE_URL") or None,
        is_pooled=read.choice("TIDEGATE_POOLER", ["none", "transaction"], default="none") == "transaction",
        direct_url=read.text("DATABASE_DIRECT_URL") or None,
        host=read.text("HOST", default="127.0.0.1"),
        port=port,
        base_url=read.text("TIDEGATE_BASE_URL", default=default_base_url(port)).rstrip("/"),
        ussd_method=read.text("TIDEGATE_USSD_METHOD", default="payAttitude"),
        home=Path(read.text("TIDEGATE_HOME", default=".tidegate")).absolute(),
        postgres_bin=Path(path) if (path := read.text("TIDEGATE_POSTGRES_BIN")) else None,
        log_as_json=read.choice("TIDEGATE_LOG", ["json", "text"], default="json") == "json",
        log_level=read.choice("TIDEGATE_LOG_LEVEL", ["debug", "info", "warning", "error"], default="info"),
        drain_s=read.number("TIDEGATE_DRAIN_S", default=0 if mode is Mode.SANDBOX else 2, at_most=60),
        connections_max=read.number("TIDEGATE_CONNECTIONS_MAX", default=10, at_most=1_000, at_least=2),
        trusted_proxies=read.number("TIDEGATE_TRUSTED_PROXIES", default=0, at_most=10),
        rails=rails,
        **{name: of(read) for name, of in _RAIL_SETTINGS.items() if mode is Mode.LIVE and name in rails},
        encryption_keys=read.keys("TIDEGATE_ENCRYPTION_KEY"),
        metrics_port=read.number("TIDEGATE_METRICS_PORT", default=0, at_most=65_535),
        traces_url=read.text("TIDEGATE_TRACES_URL"),
        review_inflows_from=read.number("TIDEGATE_REVIEW_INFLOWS_FROM", default=0, at_most=1_000_000_000),
        hold_days=read.number("TIDEGATE_HOLD_DAYS", default=3, at_most=90, at_least=1),
        rate_lasts_minutes=read.number("TIDEGATE_RATE_LASTS_MINUTES", default=60, at_most=10_080, at_least=1),
        retention=RetentionDays.read(read),
        mail=MailSettings.read(read),
        hosts=tuple(read.text("TIDEGATE_HOSTS").replace(",", " ").split()),
        console_url=read.text("TIDEGATE_CONSOLE_URL").rstrip("/"),
        alarm_url=read.text("TIDEGATE_ALARM_URL"),
        console_networks=_networks(read, "TIDEGATE_CONSOLE_NETWORKS"),
        has_docs=read.choice("TIDEGATE_DOCS", ["on", "off"], default="on" if mode is Mode.SANDBOX else "off") == "on",
        operator_name=read.line("TIDEGATE_OPERATOR_NAME", chars_max=OPERATOR_NAME_CHARS_MAX),
        operator_contact=read.contact("TIDEGATE_OPERATOR_CONTACT"),
        security_contact=read.contact("TIDEGATE_SECURITY_CONTACT") or (SANDBOX_CONTACT if mode is Mode.SANDBOX else ""),
        **_payer_limits(read),
        card_declines_per_hour=read.number(
            "TIDEGATE_CARD_DECLINES_PER_HOUR",
            default=Settings.card_declines_per_hour if mode is Mode.SANDBOX else 60,
            at_most=1_000_000,
            at_least=1,
        ),
    )
    if problems := [*read.problems, *_problems_in(settings)]:
        raise WrongSettings(problems)
    return settings


def _networks(read: SettingsReader, name: str) -> tuple[IPv4Network | IPv6Network, ...]:
    try:
        return tuple(ipaddress.ip_network(word) for word in read.text(name).replace(",", " ").split())
    except ValueError:
        read.problems.append(f"{name} must be networks such as 10.8.0.0/16, separated by commas.")
        return ()


def _payer_limits(read: SettingsReader) -> dict[str, Any]:
    return {
        name: read.number(f"TIDEGATE_{name.upper()}", default=getattr(Settings, name), at_most=1_000_000, at_least=1)
        for name in (
            "address_reads_per_second",
            "address_writes_per_second",
            "address_declines_per_hour",
            "address_streams",
            "business_declines_per_hour",
        )
    }


def _problems_in(settings: Settings) -> list[str]:
    for name, url in settings.database_urls:
        if not url.startswith(("postgresql://", "postgres://")):
            return [f"{name} must be an address such as postgresql://user:password@host/database."]
    base = urlsplit(settings.base_url)
    if base.scheme not in ("http", "https") or not base.hostname or base.query or base.fragment:
        return ["TIDEGATE_BASE_URL must be an address such as https://api.example.com."]
    if settings.alarm_url and not settings.alarm_url.startswith(("https://", "http://")):
        return ["TIDEGATE_ALARM_URL must be an address such as https://hooks.example.com/tidegate."]
    console = urlsplit(settings.console_url)
    if settings.console_url and (console.scheme not in ("http", "https") or not console.hostname or console.path):
        return ["TIDEGATE_CONSOLE_URL must be an address such as https://console.example.com, without a path."]
    return _problems_in_live(settings) if settings.mode is Mode.LIVE else []


def _problems_in_live(settings: Settings) -> list[str]:
    problems = []
    if not settings.base_url.startswith("https://") and not settings.is_rehearsed:
        problems.append(
            "TIDEGATE_BASE_URL must begin with https:// in live mode: links and keys travel over it. It may be http:// "
            "only on this machine, with every rail's API emulated there."
        )
    is_rehearsed_here = settings.is_rehearsed and is_loopback(settings.console_url)
    if settings.console_url and not settings.console_url.startswith("https://") and not is_rehearsed_here:
        problems.append(
            "TIDEGATE_CONSOLE_URL must begin with https:// in live mode: staff sign in there. It may be http:// only "
            "on this machine, with every rail's API emulated there."
        )
    if settings.database_url is None:
        problems.append("DATABASE_URL must be set in live mode: the embedded PostgreSQL has no backup and no standby.")
    elif (urlsplit(settings.database_url).password or "real") in _EXAMPLE_PASSWORDS:
        problems.append("DATABASE_URL has an example password; give the database a real one before going live.")
    problems += [
        f"{name} must require TLS in live mode, with ?sslmode=verify-full, verify-ca or require: it carries payments "
        "and payers' data. A Unix socket or a database on this machine needs none."
        for name, url in settings.database_urls
        if not _is_encrypted_or_local(url)
    ]
    if not settings.encryption_keys:
        problems.append(
            "TIDEGATE_ENCRYPTION_KEY must be set in live mode, the same for all processes: webhook secrets are stored "
            "encrypted. `openssl rand -base64 32` makes one."
        )
    known = ", ".join(LIVE_RAILS) or "none yet"
    problems += [
        f"TIDEGATE_RAILS names {rail!r}, which is not a rail of this version; it has {known}."
        for rail in settings.rails
        if rail not in LIVE_RAILS
    ]
    if not settings.rails:
        problems.append(
            f"TIDEGATE_RAILS must name the rails that move real money, of which this version has {known}: "
            "the sandbox's own rail is refused in live mode."
        )
    return problems


def _is_encrypted_or_local(url: str) -> bool:
    parts = urlsplit(url)
    options = parse_qs(parts.query)
    # As in libpq, either place may list several.
    addresses = [
        *parts.netloc.rpartition("@")[2].split(","),
        *(host for text in options.get("host", ()) for host in text.split(",")),
    ]
    is_local = all(_is_local(address) for address in addresses)
    return is_local or options.get("sslmode", [""])[-1] in _ENCRYPTED


def _is_local(address: str) -> bool:
    address = unquote(address)
    host = address if address.startswith("/") else urlsplit(f"//{address}").hostname or ""
    if not host or host.startswith("/") or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
