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


async def credit(look: ProposalCheck, _: NoArguments) -> None:
    await review.check_credit(look.tx, look.deps.payment, look.subject, now=look.now)


async def send_back(look: ProposalCheck, _: ReturnArguments) -> None:
    await review.check_return(look.tx, look.subject)


async def assignment(look: ProposalCheck, to: AssignArguments) -> None:
    deps, receipt_id = look.deps.payment, int(look.subject)
    if to.payment is not None:
        await suspense.check_payment(
            look.tx, deps, receipt_id, business_id=to.business_id, reference=to.payment, now=look.now
        )
    else:
        await suspense.check_account(
            look.tx, deps, receipt_id, business_id=to.business_id, account_id=to.account_id or "", now=look.now
        )


async def suspense_return(look: ProposalCheck, _: NoArguments) -> None:
    await suspense.check(look.tx, int(look.subject), "returned")


async def suspense_close(look: ProposalCheck, _: NoArguments) -> None:
    await suspense.check(look.tx, int(look.subject), "closed")


async def refundable(tx: Tx, business_id: str, reference: str) -> str:
    """Our own reference, whichever was given. One that is unknown stays, and is refused."""
    return await refunds.find_reference(tx, business_id, reference) or reference


async def refund(look: ProposalCheck, wanted: OperatorRefund) -> None:
    lasts = look.deps.payment.inflow_terms.rate_lasts
    subject = await refunds.look_at(look.tx, look.business_id, look.subject, rate_lasts=lasts, now=look.now)
    asked = RefundRequest(reference=look.subject, amount=wanted.amount).amount_in(subject.received.currency)
    refund_model.exchange_of(subject, refund_model.amount_of(subject, asked), wanted.rate)


async def request_again(look: ProposalCheck, _: NoArguments) -> None:
    await requests.check(look.tx, look.business_id, look.subject, now=look.now)


async def payout(look: ProposalCheck, _: Any) -> None:
    found = await payout_store.find(look.tx, look.business_id, look.subject)
    if found is None or found.status != "proposed":
        raise Conflict(f"{look.subject} is {found.status if found else 'unknown'}; only a proposed payment is paid")


async def account_approval(look: ProposalCheck, _: Any) -> None:
    await _account(look, AccountAction.APPROVE)


async def account_reinstatement(look: ProposalCheck, _: NoArguments) -> None:
    await _account(look, AccountAction.REINSTATE)


async def _account(look: ProposalCheck, action: AccountAction) -> None:
    found = await account_store.find(look.tx, look.business_id, look.subject)
    if found is None:
        raise NotFound(f"there is no account {look.subject}")
    accounts.refuse_unless_allowed(found, action)


async def settings(look: ProposalCheck, wanted: SettingArguments) -> None:
    await merchants.refuse_needless(look.tx, look.business_id, wanted.changes)


async def key(look: ProposalCheck, wanted: RollArguments) -> None:
    if wanted.key_id is None:
        return
    found = await merchant_store.find_key(look.tx, look.business_id, wanted.key_id)
    if found is None:
        raise NotFound(f"the business {look.business_id} has no key {wanted.key_id}")
    if not found.is_valid_at(look.now):
        raise Conflict("this key has ended; make a new one")


async def staff(look: ProposalCheck, _: NoArguments) -> None:
    await staff_commands.get(look.tx, look.subject)


async def person(look: ProposalCheck, _: NoArguments) -> None:
    found = await people.find_by_email(look.tx, look.subject)
    if found is not None and not found[0].has_second_factor:
        raise Conflict(f"{look.subject} has no second factor; nothing is to be removed")
