"""How long rows are kept."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from tidegate.settings_reader import SettingsReader

DAYS_MAX = 36_500


@dataclass(frozen=True, kw_only=True)
class RetentionDays:
    """For how many days rows are kept, by kind; 0 for ever."""

    notifications: int = 400
    bank_files: int = 400
    webhook_attempts: int = 90
    events: int = 400
    idempotency_keys: int = 30
    mails: int = 90
    requests: int = 7
    failed_requests: int = 30
    sandbox: int = 90

    @classmethod
    def read(cls, read: SettingsReader) -> RetentionDays:
        return cls(
            **{
                kind: read.days(
                    f"TIDEGATE_KEEP_{kind.upper()}_DAYS",
                    default=getattr(cls, kind),
                    at_least=at_least,
                    at_most=DAYS_MAX,
                )
                for kind, at_least in asdict(DAYS_MIN).items()
            }
        )


# Fewer days than these are refused; the database removes nothing younger either.
DAYS_MIN = RetentionDays(
    notifications=30, bank_files=30, webhook_attempts=7, events=30, idempotency_keys=30, mails=7, requests=1,
    failed_requests=7, sandbox=1,
)  # fmt: skip
