"""What the operator asks before deciding on an account: mailed to the merchant, answered in the dashboard."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from tidegate.account import commands, store
from tidegate.account import question_store as questions
from tidegate.account.model import Account, AccountStatus
from tidegate.audit import store as audit
from tidegate.audit.model import Actor
from tidegate.core.errors import Conflict
from tidegate.infra.db import Database, Tx
from tidegate.mail import store as mail
from tidegate.mail.model import Mail, one_line
from tidegate.member import team_store
from tidegate.member.permission import Permission, may
from tidegate.merchant import store as merchant_store
from tidegate.merchant.field import remark_in

_ANSWER = Permission.REQUEST_ACCOUNT


async def ask(db: Database, base_url: str, account_id: str, question: str, *, by: Actor, now: datetime) -> None:
    """Mailed to those of the merchant who may request accounts."""
    question = remark_in("question", question)
    account = await commands.get_unscoped(db, account_id)
    async with db.transaction() as tx:
        await _refuse_decided(tx, account)
        if not await questions.insert(tx, account.business_id, account.id, question, by=by.actor, now=now):
            raise Conflict("the merchant has not answered the last question yet; wait, or take the question back")
        if not await _mail(tx, account, base_url, _asked(question), now=now):
            raise Conflict("this merchant has no member who can answer; invite its owner first")
        await audit.insert(tx, account.business_id, by, action="account.asked", subject=account.id, details={}, now=now)


async def answer(tx: Tx, account: Account, question_id: int | None, text: str, *, by: Actor, now: datetime) -> None:
    """Of the question that was read, and of no later one."""
    text = remark_in("answer", text)
    await _refuse_decided(tx, account)
    if not await questions.answer(tx, account.business_id, account.id, question_id, text, by=by.actor, now=now):
        raise Conflict("this question is not open any more: another person answered it, or it was taken back")
    await audit.insert(tx, account.business_id, by, action="account.answered", subject=account.id, details={}, now=now)


async def take_back(
    db: Database, base_url: str, account_id: str, *, question_id: int | None, by: Actor, now: datetime
) -> None:
    """The one that waits, while it is not answered; of a page, only the one that it showed. A mail tells of it, too."""
    account = await commands.get_unscoped(db, account_id)
    async with db.transaction() as tx:
        if not await questions.take_back(tx, account.business_id, account.id, question_id, by=by.actor, now=now):
            raise Conflict(
                "no question about this account waits for an answer"
                if question_id is None
                else "no such question waits for an answer; it was answered, or taken back before"
            )
        await _mail(tx, account, base_url, _TAKEN_BACK, now=now)
        await audit.insert(
            tx, account.business_id, by, action="account.question_taken_back", subject=account.id, details={}, now=now
        )


async def _refuse_decided(tx: Tx, account: Account) -> None:
    """By what it is now, and until the transaction ends: it may have been decided on since it was shown."""
    status = await store.hold_status(tx, account.business_id, account.id)
    if status is not AccountStatus.PENDING:
        raise Conflict(f"this account is {status.value}; questions are asked and answered only while it is pending")


class QuestionLetter(NamedTuple):
    """Of a question, or of its end."""

    subject: str
    # After the words that name the account and the business.
    intent: str
    paragraph: str
    link: str
    closing: str


def _asked(question: str) -> QuestionLetter:
    return QuestionLetter(
        "A question about the account of", "Tidegate asks:", question, "Answer it",
        "The account waits until it is answered.",
    )  # fmt: skip


_TAKEN_BACK = QuestionLetter(
    "No answer is needed about the account of", "Tidegate had a question.",
    "The question was taken back; you need not answer it.", "See the account", "The account is decided on without it.",
)  # fmt: skip


async def _mail(tx: Tx, account: Account, base_url: str, letter: QuestionLetter, *, now: datetime) -> bool:
    """To each member who may answer; False where there is none."""
    business = await merchant_store.find_business(tx, account.business_id)
    assert business is not None
    readers = [one for one in await team_store.list_team(tx, account.business_id) if may(one.role, _ANSWER)]
    for one in readers:
        sent = Mail(
            recipient=one.member.email,
            subject=one_line(f"{letter.subject} {account.holder}"),
            paragraphs=(
                f"Before the {account.currency} account of {one_line(account.holder)} is opened for "
                f"{one_line(business.name)}, {letter.intent}",
                letter.paragraph,
            ),
            link=(letter.link, f"{base_url}/dashboard/{business.code}/accounts/{account.id}"),
            closing=letter.closing,
        )
        await mail.insert(tx, account.business_id, sent, now=now)
    return bool(readers)
