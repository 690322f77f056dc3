"""Payments to the bank, as they are proposed: as they stand, or to where one of the staff says."""

from __future__ import annotations

from datetime import datetime

import msgspec

from tidegate.audit.model import Actor
from tidegate.bank_file import payout as payouts
from tidegate.bank_file.payout_store import ProposedPayout
from tidegate.infra.db import Tx
from tidegate.staff_approval import commands
from tidegate.staff_approval.arguments import PayoutArguments

COMMAND = "bank.pay"
_ENDING_CHARS = 4


class Payee(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    account: str
    bank: str | None = None


def arguments_of(payout: ProposedPayout) -> PayoutArguments:
    """Refused while it is not known where it goes."""
    payouts.refuse_without_payee(payout)
    return PayoutArguments(amount=str(payout.amount), account_ends=(payout.payee_account or "")[-_ENDING_CHARS:])


async def amend_and_propose(
    tx: Tx, reference: str, payee: Payee, *, why: str, asked_by: str, by: Actor, now: datetime
) -> int:
    """The number of the proposal. One that is open already is to be taken back first."""
    payout = await payouts.amend(tx, reference, name=payee.name, account=payee.account, bank=payee.bank, by=by, now=now)
    amended = await payouts.get(tx, reference)
    version = await commands.version_of(tx, COMMAND, payout.business_id, reference)
    proposal = commands.proposal_of(
        COMMAND, payout.business_id, reference, version, why=why, asked_by=asked_by, arguments=arguments_of(amended)
    )
    return await commands.propose(tx, proposal, by=by, now=now)
