"""Settings of the service, its database and its secrets, and of everything that has a default."""

from __future__ import annotations

from tidegate.settings_guide.model import SettingRow, SettingSection

FIRST_SECTIONS = (
    SettingSection(
        title="Mode and address",
        rows=(
            SettingRow(
                name="TIDEGATE_MODE",
                meaning="live moves real money and refuses unsafe settings. A database belongs to one mode for ever.",
                live="live",
            ),
            SettingRow(
                name="TIDEGATE_BASE_URL",
                meaning="The address that merchants and payers use, as the TLS proxy serves it.",
                live="{base_url}",
            ),
            SettingRow(
                name="TIDEGATE_HOSTS",
                meaning="Further host names to answer, besides that of the base URL and loopback, separated by commas.",
            ),
            SettingRow(
                name="TIDEGATE_CONSOLE_URL",
                meaning="Address of the operator's console, a host of its own. Without it there is no console in live "
                "mode; `tidegate staff add` makes the first person.",
            ),
            SettingRow(
                name="TIDEGATE_CONSOLE_NETWORKS",
                meaning="Networks that reach the console, such as 10.8.0.0/16, separated by commas; any without it.",
            ),
            SettingRow(
                name="TIDEGATE_ALARM_URL",
                meaning="Where alarms are posted as JSON when they are raised and when they end: `id`, `rule`, "
                "`subject`, `text`, `advice`, `raisedAt`, `endedAt`. The staff get them by mail in any case.",
            ),
            SettingRow(
                name="HOST",
                meaning="Address to listen on. The proxy is the only one that needs to reach it.",
                usual="127.0.0.1",
            ),
            SettingRow(name="PORT", meaning="Port of the API.", usual="8080"),
            SettingRow(
                name="TIDEGATE_TRUSTED_PROXIES",
                meaning="Number of your own proxies that append to X-Forwarded-For. With 0 behind a proxy all payers "
                "share one address and one limit; with too many a payer can choose its address. "
                "With 1 or more, X-Request-Id is the proxy's.",
                usual="0",
                live="1",
            ),
            SettingRow(
                name="TIDEGATE_OPERATOR_NAME",
                meaning="Name of the company that runs the service, shown on its front page and its error pages. "
                "Tidegate without it.",
            ),
            SettingRow(
                name="TIDEGATE_OPERATOR_CONTACT",
                meaning="E-mail address or URI where payers and merchants get help, shown on the front page.",
                live="help@{host}",
            ),
            SettingRow(
                name="TIDEGATE_SECURITY_CONTACT",
                meaning="E-mail address or URI shown in /.well-known/security.txt. A sandbox shows "
                "a placeholder without it.",
                live="security@{host}",
            ),
            SettingRow(
                name="TIDEGATE_DOCS",
                meaning="on or off: /docs and /openapi.json. On in a sandbox.",
                usual="off",
            ),
        ),
    ),
    SettingSection(
        title="Database",
        rows=(
            SettingRow(
                name="DATABASE_URL",
                meaning="PostgreSQL 15 or later. The login needs the role tidegate_app and nothing else; `tidegate "
                "migrate` is run with the URL of the database's owner instead. Anything but this machine needs TLS.",
                live="postgresql://tidegate_service:{password}@{database_host}/tidegate{database_tls}",
            ),
            SettingRow(
                name="TIDEGATE_POOLER",
                meaning="none, or transaction when DATABASE_URL leads through PgBouncer in transaction mode. Role and "
                "time-outs must then be set on the login; `tidegate serve` says how.",
                usual="none",
            ),
            SettingRow(
                name="DATABASE_DIRECT_URL",
                meaning="Behind a pooler: the same database without it, for the worker, notifications and commands.",
            ),
            SettingRow(
                name="TIDEGATE_CONNECTIONS_MAX",
                meaning="Connections of each process. All processes together must stay below max_connections of "
                "PostgreSQL, or below the pooler's.",
                usual="10",
            ),
        ),
    ),
    SettingSection(
        title="Secrets",
        rows=(
            SettingRow(
                name="TIDEGATE_ENCRYPTION_KEY",
                meaning="Encrypts webhook secrets and second factors: 32 bytes in base64, the same for all processes. "
                "Keep a copy apart from the database's backups: without it no webhook can be signed. To rotate, put "
                "the new key before the old one, with a comma between.",
                live="{key}",
            ),
        ),
    ),
)

# Every one of these has a default that suits most.
LAST_SECTIONS = (
    SettingSection(
        title="Inflows",
        rows=(
            SettingRow(
                name="TIDEGATE_REVIEW_INFLOWS_FROM",
                meaning="Inflows from this amount, in major units, wait for `tidegate inflow credit`; 0 for none.",
                usual="0",
            ),
            SettingRow(
                name="TIDEGATE_HOLD_DAYS",
                meaning="After so many days without a decision a held inflow is returned.",
                usual="3",
            ),
            SettingRow(
                name="TIDEGATE_RATE_LASTS_MINUTES",
                meaning="Maximum age of an exchange rate; an inflow without a fresh one is held.",
                usual="60",
            ),
        ),
    ),
    SettingSection(
        title="Limits of payers. Mobile carriers put thousands of payers behind one address",
        rows=(
            SettingRow(
                name="TIDEGATE_ADDRESS_READS_PER_SECOND",
                meaning="Pages and other reads of one client address.",
                usual="200",
            ),
            SettingRow(
                name="TIDEGATE_ADDRESS_WRITES_PER_SECOND",
                meaning="Actions of one client address.",
                usual="50",
            ),
            SettingRow(
                name="TIDEGATE_ADDRESS_DECLINES_PER_HOUR",
                meaning="Declined cards of one client address; a sixth of them may come at once.",
                usual="600",
            ),
            SettingRow(
                name="TIDEGATE_ADDRESS_STREAMS",
                meaning="Event streams open at once from one client address, in each process.",
                usual="500",
            ),
            SettingRow(
                name="TIDEGATE_BUSINESS_DECLINES_PER_HOUR",
                meaning="Declined cards of one business, from all addresses.",
                usual="3600",
            ),
            SettingRow(
                name="TIDEGATE_CARD_DECLINES_PER_HOUR",
                meaning="Declines of one card, at all businesses, after which it is slowed. It is known again by a "
                "keyed hash; its number is not kept.",
                usual="60",
            ),
        ),
    ),
    SettingSection(
        title="How long rows are kept, in days; 0 for ever",
        rows=(
            SettingRow(
                name="TIDEGATE_KEEP_NOTIFICATIONS_DAYS",
                meaning="What rails sent; at least 30.",
                usual="400",
            ),
            SettingRow(
                name="TIDEGATE_KEEP_BANK_FILES_DAYS",
                meaning="The bytes of a bank's files, whose entries stay; at least 30.",
                usual="400",
            ),
            SettingRow(
                name="TIDEGATE_KEEP_EVENTS_DAYS",
                meaning="Events with their deliveries, which merchants can list and replay; at least 30.",
                usual="400",
            ),
            SettingRow(
                name="TIDEGATE_KEEP_WEBHOOK_ATTEMPTS_DAYS",
                meaning="What merchants' servers answered; at least 7.",
                usual="90",
            ),
            SettingRow(
                name="TIDEGATE_KEEP_IDEMPOTENCY_KEYS_DAYS",
                meaning="Answers under an Idempotency-Key; at least 30.",
                usual="30",
            ),
            SettingRow(
                name="TIDEGATE_KEEP_MAILS_DAYS",
                meaning="To whom mail was sent and its subject; at least 7. Its text goes once it is sent.",
                usual="90",
            ),
            SettingRow(
                name="TIDEGATE_KEEP_REQUESTS_DAYS",
                meaning="Log of merchants' requests that succeeded; at least 1.",
                usual="7",
            ),
            SettingRow(
                name="TIDEGATE_KEEP_FAILED_REQUESTS_DAYS",
                meaning="Log of merchants' requests that failed; at least 7.",
                usual="30",
            ),
            SettingRow(
                name="TIDEGATE_KEEP_SANDBOX_DAYS",
                meaning="What the sandbox's rail remembers; without effect in live mode.",
                usual="90",
            ),
        ),
    ),
    SettingSection(
        title="Mail",
        rows=(
            SettingRow(
                name="TIDEGATE_SMTP_URL",
                meaning="Mail server: smtps://user:password@mail.example.com, or smtp://… with STARTTLS. Without one "
                "nothing is sent.",
            ),
            SettingRow(name="TIDEGATE_MAIL_FROM", meaning="Sender of mail, such as no-reply@example.com."),
        ),
    ),
    SettingSection(
        title="Logs, metrics, traces, stopping",
        rows=(
            SettingRow(name="TIDEGATE_LOG", meaning="json or text, on standard error.", usual="json"),
            SettingRow(name="TIDEGATE_LOG_LEVEL", meaning="debug, info, warning or error.", usual="info"),
            SettingRow(
                name="TIDEGATE_METRICS_PORT",
                meaning="Port of the Prometheus metrics, on HOST; 0 for none. `serve` and `worker` on one machine need "
                "one each: the systemd units set 9464 and 9465.",
                usual="0",
            ),
            SettingRow(
                name="TIDEGATE_TRACES_URL",
                meaning="OpenTelemetry collector that takes OTLP over HTTP, such as http://127.0.0.1:4318. Without one "
                "there are no traces.",
            ),
            SettingRow(
                name="TIDEGATE_DRAIN_S",
                meaning='Seconds between "not ready" and the stop: longer than the proxy takes to notice.',
                usual="2",
            ),
        ),
    ),
    SettingSection(
        title="Sandbox only",
        rows=(
            SettingRow(name="TIDEGATE_HOME", meaning="Folder of the sandbox's own database.", usual=".tidegate"),
            SettingRow(
                name="TIDEGATE_POSTGRES_BIN",
                meaning="Folder of the programs for that database; those of the wheel or of the system by default.",
            ),
        ),
    ),
)
