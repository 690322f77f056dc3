"""The life of an account: every action in every state is allowed or refused, and nothing else is touched."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegate.account import model
from tidegate.account.model import Account, AccountAction, AccountStatus, AccountType, BlockReason
from tidegate.account.wire import is_payable
from tidegate.core.errors import IllegalTransition
from tidegate.core.money import Currency
from tidegate.rail.interface import AccountDetails

NOW = datetime(2026, 3, 14, 9, 26, 53, tzinfo=UTC)
DETAILS = AccountDetails(
    account_number="DE1", local_number="1", bank_code="2", bank_name="Bank", country_code="DE", reference="r"
)
STATES: dict[str, tuple[AccountStatus, bool]] = {
    "pending": (AccountStatus.PENDING, False),
    "approved": (AccountStatus.APPROVED, False),
    "suspended": (AccountStatus.APPROVED, True),
    "declined": (AccountStatus.DECLINED, False),
    "expired": (AccountStatus.EXPIRED, False),
    "closed": (AccountStatus.CLOSED, False),
}
DO: dict[AccountAction, Callable[[Account], Account]] = {
    AccountAction.APPROVE: lambda account: model.approve(account, DETAILS, rail="sandbox"),
    AccountAction.DECLINE: lambda account: model.decline(account, "why"),
    AccountAction.SUSPEND: lambda account: model.suspend(account, "why"),
    AccountAction.REINSTATE: model.reinstate,
    AccountAction.CLOSE: lambda account: model.close(account, "why"),
    AccountAction.EXPIRE: model.expire,
}
# Where each action leads from each state; from all others it is refused.
LEADS_TO: dict[tuple[str, AccountAction], str] = {
    ("pending", AccountAction.APPROVE): "approved",
    ("pending", AccountAction.DECLINE): "declined",
    ("approved", AccountAction.SUSPEND): "suspended",
    ("approved", AccountAction.CLOSE): "closed",
    ("approved", AccountAction.EXPIRE): "expired",
    ("suspended", AccountAction.REINSTATE): "approved",
    ("suspended", AccountAction.CLOSE): "closed",
    ("suspended", AccountAction.EXPIRE): "expired",
    ("expired", AccountAction.CLOSE): "closed",
}


def account(state: str = "approved", **changes: object) -> Account:
    status, is_suspended = STATES[state]
    made = Account(
        business_id="b", id="a", status=status, is_suspended=is_suspended, currency=Currency.EUR,
        settlement_currency=Currency.EUR, account_type=AccountType.INDIVIDUAL, holder="Ada Obi",
        created_at=NOW, updated_at=NOW,
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


@pytest.mark.parametrize("action", AccountAction)
@pytest.mark.parametrize("state", STATES)
def test_every_action_in_every_state_is_allowed_or_refused(state: str, action: AccountAction) -> None:
    before = account(state, note="kept", merchant_reference="kept")
    target = LEADS_TO.get((state, action))
    assert (action in model.allowed(before)) is (target is not None)
    if target is None:
        with pytest.raises(IllegalTransition) as refused:
            DO[action](before)
        assert action.value in refused.value.message
        return
    after = DO[action](before)
    assert (after.status, after.is_suspended) == STATES[target]
    moving = {"status", "is_suspended", "reason", "rail", "details", "expires_at"}
    assert {n for n in before.__struct_fields__ if getattr(before, n) != getattr(after, n)} <= moving


def test_the_tables_above_are_whole() -> None:
    assert set(DO) == set(AccountAction)
    assert {status for status, _ in STATES.values()} == set(AccountStatus)


@pytest.mark.parametrize(
    ("state", "block_reason"),
    [
        ("approved", None),
        ("suspended", BlockReason.SUSPENDED),
        ("expired", BlockReason.EXPIRED),
        ("closed", BlockReason.CLOSED),
        ("pending", BlockReason.NOT_OPEN),
        ("declined", BlockReason.NOT_OPEN),
    ],
)
def test_only_an_approved_account_takes_money(state: str, block_reason: BlockReason | None) -> None:
    assert account(state).block_reason(NOW) is block_reason
    assert account(state).is_active(NOW) is (block_reason is None)


@pytest.mark.parametrize("state", ["approved", "suspended"])
def test_an_account_has_expired_from_its_last_moment_on_with_or_without_a_sweep(state: str) -> None:
    one = account(state, expires_at=NOW)
    assert one.block_reason(NOW) is BlockReason.EXPIRED
    assert one.block_reason(NOW - timedelta(microseconds=1)) is not BlockReason.EXPIRED
    assert not one.is_permanent


def test_a_closed_account_has_not_expired_however_late_it_is() -> None:
    assert account("closed", expires_at=NOW).block_reason(NOW + timedelta(days=1)) is BlockReason.CLOSED


def test_a_reason_ends_with_what_it_was_for() -> None:
    suspended = model.suspend(account(), "a complaint")
    assert (suspended.reason, model.reinstate(suspended).reason) == ("a complaint", None)


@pytest.mark.parametrize("holder", ["", "...", "x" * 141, "a " * 30, "ada \u2800", "N/A", "unknown"])
def test_a_name_that_can_never_be_typed_right_opens_no_account(holder: str) -> None:
    expected = holder == "ada \u2800"
    assert is_payable(holder, is_company=False) is expected


@settings(deadline=None)
@given(st.lists(st.text("abcdefghijklmnopqrstuvwxyzéüñ'-", min_size=2, max_size=12), min_size=2, max_size=4))
def test_the_holders_name_as_it_stands_passes(words: list[str]) -> None:
    holder = " ".join(word.strip("'-") or "ada" for word in words)
    assert is_payable(holder, is_company=False)
