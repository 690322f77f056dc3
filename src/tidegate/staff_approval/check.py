"""Whether a proposal is possible at all: what its command would refuse now is not proposed.

The approval decides again, on what is there then.
"""

from __future__ import annotations

from typing import Any

from tidegate.account import model as accounts
from tidegate.account import store as account_store
from tidegate.account.model import AccountAction
from tidegate.bank_file import payout_store
from tidegate.collection import review
from tidegate.core.errors import Conflict, NotFound
from tidegate.infra.db import Tx
from tidegate.intake import request_again as requests
from tidegate.intake import suspense
from tidegate.member import store as people
from tidegate.merchant import commands as merchants
from tidegate.merchant import store as merchant_store
from tidegate.refund import commands as refunds
from tidegate.refund import model as refund_model
from tidegate.refund.model import RefundRequest
from tidegate.staff import commands as staff_commands
from tidegate.staff_approval.arguments import (
    AssignArguments,
    NoArguments,
    OperatorRefund,
    ReturnArguments,
    RollArguments,
    SettingArguments,
)
from tidegate.staff_approval.model import ProposalCheck


async def credit(check: ProposalCheck, _: NoArguments) -> None:
    await review.check_credit(check.tx, check.deps.payment, check.subject, now=check.now)


async def send_back(check: ProposalCheck, _: ReturnArguments) -> None:
    await review.check_return(check.tx, check.subject)


async def assignment(check: ProposalCheck, to: AssignArguments) -> None:
    deps, receipt_id = check.deps.payment, int(check.subject)
    if to.payment is not None:
        await suspense.check_payment(
            check.tx, deps, receipt_id, business_id=to.business_id, reference=to.payment, now=check.now
        )
    else:
        await suspense.check_account(
            check.tx, deps, receipt_id, business_id=to.business_id, account_id=to.account_id or "", now=check.now
        )


async def suspense_return(check: ProposalCheck, _: NoArguments) -> None:
    await suspense.check(check.tx, int(check.subject), "returned")


async def suspense_close(check: ProposalCheck, _: NoArguments) -> None:
    await suspense.check(check.tx, int(check.subject), "closed")


async def refundable(tx: Tx, business_id: str, reference: str) -> str:
    """Our own reference, whichever was given. One that is unknown stays, and is refused."""
    return await refunds.find_reference(tx, business_id, reference) or reference


async def refund(check: ProposalCheck, wanted: OperatorRefund) -> None:
    lasts = check.deps.payment.inflow_terms.rate_lasts
    subject = await refunds.look_at(check.tx, check.business_id, check.subject, rate_lasts=lasts, now=check.now)
    asked = RefundRequest(reference=check.subject, amount=wanted.amount).amount_in(subject.received.currency)
    refund_model.exchange_of(subject, refund_model.amount_of(subject, asked), wanted.rate)


async def request_again(check: ProposalCheck, _: NoArguments) -> None:
    await requests.check(check.tx, check.business_id, check.subject, now=check.now)


async def payout(check: ProposalCheck, _: Any) -> None:
    found = await payout_store.find(check.tx, check.business_id, check.subject)
    if found is None or found.status != "proposed":
        raise Conflict(f"{check.subject} is {found.status if found else 'unknown'}; only a proposed payment is paid")


async def account_approval(check: ProposalCheck, _: Any) -> None:
    await _account(check, AccountAction.APPROVE)


async def account_reinstatement(check: ProposalCheck, _: NoArguments) -> None:
    await _account(check, AccountAction.REINSTATE)


async def _account(check: ProposalCheck, action: AccountAction) -> None:
    found = await account_store.find(check.tx, check.business_id, check.subject)
    if found is None:
        raise NotFound(f"there is no account {check.subject}")
    accounts.refuse_unless_allowed(found, action)


async def settings(check: ProposalCheck, wanted: SettingArguments) -> None:
    await merchants.refuse_needless(check.tx, check.business_id, wanted.changes)


async def key(check: ProposalCheck, wanted: RollArguments) -> None:
    if wanted.key_id is None:
        return
    found = await merchant_store.find_key(check.tx, check.business_id, wanted.key_id)
    if found is None:
        raise NotFound(f"the business {check.business_id} has no key {wanted.key_id}")
    if not found.is_valid_at(check.now):
        raise Conflict("this key has ended; make a new one")


async def staff(check: ProposalCheck, _: NoArguments) -> None:
    await staff_commands.get(check.tx, check.subject)


async def person(check: ProposalCheck, _: NoArguments) -> None:
    found = await people.find_by_email(check.tx, check.subject)
    if found is not None and not found[0].has_second_factor:
        raise Conflict(f"{check.subject} has no second factor; nothing is to be removed")
