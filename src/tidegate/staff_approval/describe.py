"""What an approver reads about a proposal: its subject as it is now, and what would be booked or changed.

Of a proposal that was decided, what was read when it was made: `proposals.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from tidegate.account import question_store
from tidegate.account import store as account_store
from tidegate.bank_file import payout_store
from tidegate.collection import review, review_store
from tidegate.collection import store as collection_store
from tidegate.collection.model import CollectionChange
from tidegate.collection.rate import Rate, rate_words
from tidegate.core.errors import Refusal
from tidegate.core.fee import FeeRule
from tidegate.core.method import METHOD_WORDS, priced_in
from tidegate.core.money import Currency, Money
from tidegate.intake import suspense_store
from tidegate.merchant import store as merchant_store
from tidegate.merchant.model import KeyScope
from tidegate.rail import pause_store
from tidegate.refund import commands as refunds
from tidegate.refund import model as refund_model
from tidegate.refund.model import RefundExchange, RefundRate, RefundRequest, Subject
from tidegate.staff import store as staff_store
from tidegate.staff_approval import subject_store
from tidegate.staff_approval.arguments import (
    ApprovalArguments,
    AssignArguments,
    EndpointArguments,
    EndpointChanges,
    ImportArguments,
    KeyArguments,
    NoArguments,
    OperatorRefund,
    PayoutArguments,
    PriceArguments,
    RateArguments,
    RollArguments,
    SettingArguments,
    StaffArguments,
    fee_words,
    percent_of,
    shown,
)
from tidegate.staff_approval.model import ProposalContext, ProposalFact
from tidegate.staff_approval.setting_words import SETTING_LABELS, setting_text
from tidegate.staff_approval.subject_store import MovingMoney
from tidegate.webhook import store as webhook_store

NONE = "–"


async def inflow(context: ProposalContext, _: NoArguments) -> list[ProposalFact]:
    held = await collection_store.find(context.tx, context.business_id, context.subject)
    if held is None:
        return []
    facts = [
        ProposalFact("Amount", held.amount),
        ProposalFact("Payer", held.payer.name or NONE, is_personal=True),
        ProposalFact("Name typed", held.name_check.typed or NONE, is_personal=True),
        ProposalFact("Account of", held.name_check.holder, page=f"/accounts/{held.account_id}", is_personal=True),
        *(ProposalFact("Held because", reason.sentence) for reason in held.held_for),
    ]
    if context.command != "inflow.credit":
        return facts
    now = context.deps.clock.now_of(context.business_id)
    change = await review.preview(context.tx, context.deps.payment, held, now=now)
    if not isinstance(change, CollectionChange):
        return [*facts, ProposalFact("Cannot be credited", change.sentence)]
    credited = change.collection.credited
    return [*facts, ProposalFact("Credited to the wallet", credited.net)] if credited else facts


async def suspense(context: ProposalContext, _: NoArguments) -> list[ProposalFact]:
    receipt = await suspense_store.find_open(context.tx, int(context.subject))
    if receipt is not None:
        return [
            ProposalFact("Amount", receipt.amount),
            ProposalFact("Payer", receipt.payer.get("name") or NONE, is_personal=True),
            ProposalFact("Narration", receipt.remittance or NONE, is_personal=True),
        ]
    decided = await suspense_store.find_decision(context.tx, int(context.subject))
    if decided is None or decided.amount is None:
        return []
    transfer = await suspense_store.find_decided(context.tx, decided)
    return [
        ProposalFact("Amount", decided.amount),
        ProposalFact("Payer", (transfer and transfer.payer) or NONE, is_personal=True),
        ProposalFact("Narration", (transfer and transfer.narration) or NONE, is_personal=True),
    ]


async def assignment(context: ProposalContext, to: AssignArguments) -> list[ProposalFact]:
    names = await subject_store.names_of(context.tx, [to.business_id])
    owner = ProposalFact("To", names.get(to.business_id, to.business_id), page=f"/merchants/{to.business_id}")
    facts = [*await suspense(context, NoArguments()), owner]
    if to.payment is None:
        account = await account_store.find(context.tx, to.business_id, to.account_id or "")
        return (
            [*facts, ProposalFact("Account of", account.holder, page=f"/accounts/{account.id}", is_personal=True)]
            if account
            else facts
        )
    payment = await subject_store.find_payment(context.tx, to.business_id, to.payment)
    if payment is None:
        return facts
    reference, status, expected = payment
    return [*facts, ProposalFact("Payment", f"{reference}, {status}"), ProposalFact("It expects", expected)]


async def refund(context: ProposalContext, wanted: OperatorRefund) -> list[ProposalFact]:
    lasts, now = context.deps.payment.inflow_terms.rate_lasts, context.deps.clock.now_of(context.business_id)
    payer = await subject_store.find_payer(context.tx, context.business_id, context.subject)
    of_payer = ProposalFact("Payer", payer or NONE, is_personal=True)
    reason = [ProposalFact("Reason, the customer reads it", wanted.reason, is_personal=True)] if wanted.reason else []
    try:
        subject = await refunds.look_at(context.tx, context.business_id, context.subject, rate_lasts=lasts, now=now)
        of = ProposalFact("Of", subject.merchant_reference or subject.reference)
        asked = RefundRequest(reference=context.subject, amount=wanted.amount).amount_in(subject.received.currency)
        amount = refund_model.amount_of(subject, asked)
        exchange = refund_model.exchange_of(subject, amount, wanted.rate)
    except Refusal as impossible:
        return [of_payer, ProposalFact("Cannot be refunded", impossible.message), *reason]
    facts = [
        of,
        of_payer,
        ProposalFact("Received", subject.received),
        ProposalFact("Amount", amount),
    ]
    return [*facts, *(_exchanged(subject, exchange, amount) if exchange else []), *reason]


def _exchanged(subject: Subject, exchange: RefundExchange, amount: Money) -> list[ProposalFact]:
    """Both rates, what the wallet would pay at each, and what the one that was chosen costs us or brings."""
    conversion = subject.conversion
    assert conversion is not None  # Else there is no exchange.
    assert conversion.today is not None
    at_credit = refund_model.exchange_of(subject, amount, RefundRate.CREDIT)
    today, quote = conversion.today, conversion.worth.currency
    quoted = f"{today.source}, {today.quoted_at:%-d %b %Y, %H:%M} UTC"
    return [
        ProposalFact("Rate of its credit", rate_words(amount.currency, conversion.rate, quote)),
        ProposalFact("Today's rate", f"{rate_words(amount.currency, today.rate, quote)} ({quoted})"),
        *([ProposalFact("Worth at the rate of its credit", at_credit.debited)] if at_credit else []),
        ProposalFact("Worth at today's rate", exchange.worth),
        ProposalFact("Debited from the wallet", exchange.debited),
        ProposalFact(*exchange_words(exchange)),
    ]


def exchange_words(exchange: RefundExchange) -> tuple[str, str | Money]:
    """What is booked on the account exchange."""
    if not exchange.gain.minor:
        return "Exchange", "no difference"
    return ("Exchange gain", exchange.gain) if exchange.gain.minor > 0 else ("Exchange loss", -exchange.gain)


async def quarantined(context: ProposalContext, _: NoArguments) -> list[ProposalFact]:
    rail, _slash, notification_id = context.subject.partition("/")
    note = await subject_store.find_quarantine_note(context.tx, rail, notification_id)
    return [ProposalFact("What contradicts", note)] if note else []


async def money_return(context: ProposalContext, _: Any) -> list[ProposalFact]:
    return _moving(await subject_store.find_return(context.tx, context.business_id, context.subject))


async def refund_leg(context: ProposalContext, _: Any) -> list[ProposalFact]:
    return _moving(await subject_store.find_refund_leg(context.tx, context.business_id, context.subject))


async def dispute(context: ProposalContext, _: Any) -> list[ProposalFact]:
    rail, _slash, dispute_id = context.subject.partition("/")
    return _moving(await subject_store.find_dispute(context.tx, context.business_id, rail, dispute_id))


def _moving(found: MovingMoney | None) -> list[ProposalFact]:
    if found is None:
        return []
    return [
        ProposalFact("Amount", found.amount),
        ProposalFact("Payer", found.payer or NONE, is_personal=True),
        ProposalFact("Of", found.of or NONE),
        ProposalFact("Rail", found.rail),
    ]


async def payout(context: ProposalContext, _: PayoutArguments) -> list[ProposalFact]:
    found = await payout_store.find(context.tx, context.business_id, context.subject)
    if found is None:
        return []
    return [
        ProposalFact("Payee", found.payee_name or NONE, is_personal=True),
        ProposalFact("Text", found.remittance, is_personal=True),
    ]


async def bank_entry(context: ProposalContext, _: Any) -> list[ProposalFact]:
    file_id, _slash, number = context.subject.partition("/")
    found = await subject_store.find_bank_entry(context.tx, file_id, number)
    if found is None:
        return []
    entry, note = found
    facts = [ProposalFact("Amount", f"{entry.currency} {entry.amount:,f}"), ProposalFact("Account", entry.account)]
    return [
        *facts,
        ProposalFact("Payer" if entry.is_credit else "Payee", entry.counterparty.name or NONE, is_personal=True),
        *([ProposalFact("Why it waits", note)] if note else []),
    ]


async def pause(context: ProposalContext, _: NoArguments) -> list[ProposalFact]:
    found = [one for one in await pause_store.list_open(context.tx) if one.rail == context.subject]
    return [ProposalFact("Paused because", one.reason) for one in found]


async def rate(context: ProposalContext, wanted: RateArguments) -> list[ProposalFact]:
    """An old quote is used only while there is no newer one."""
    quoted = f"{wanted.quoted_at:%-d %b %Y, %H:%M} UTC" if wanted.quoted_at else "when it was proposed"
    used = (await _used_rates(context)).get((wanted.base, wanted.quote))
    spread = percent_of(wanted.spread_basis_points)
    return [
        _rate(wanted, used),
        ProposalFact("Spread", spread, before=percent_of(used.spread_basis_points) if used else None),
        ProposalFact("Source", wanted.source, before=used.source if used else None),
        ProposalFact("Quoted", quoted),
        *_too_old(context, [wanted]),
    ]


async def rates(context: ProposalContext, wanted: ImportArguments) -> list[ProposalFact]:
    used = await _used_rates(context)
    days = sorted({one.quoted_at.date() for one in wanted.rates if one.quoted_at})
    sources = sorted({one.source for one in wanted.rates})
    return [
        ProposalFact("Source", ", ".join(sources)),
        ProposalFact("Day of the file", ", ".join(f"{day:%-d %b %Y}" for day in days)),
        *(_rate(one, used.get((one.base, one.quote))) for one in wanted.rates),
        *_too_old(context, wanted.rates),
    ]


async def _used_rates(context: ProposalContext) -> dict[tuple[Currency, Currency], Rate]:
    return {(one.base, one.quote): one for one in await review_store.list_rates(context.tx, context.business_id)}


def _rate(wanted: RateArguments, used: Rate | None) -> ProposalFact:
    """With the difference from the rate that is used now."""
    label = f"1 {wanted.base} in {wanted.quote}"
    if used is None:
        return ProposalFact(label, f"{wanted.rate:f}")
    if wanted.rate == used.rate:
        return ProposalFact(label, f"{wanted.rate:f}, as now")
    off = (wanted.rate / used.rate - 1) * 100
    return ProposalFact(label, f"{wanted.rate:f} ({off:+.2f} %)", before=f"{used.rate:f}")


def _too_old(context: ProposalContext, wanted: Sequence[RateArguments]) -> list[ProposalFact]:
    """By the real time, as all rates of the operator."""
    lasts = context.deps.payment.inflow_terms.rate_lasts
    oldest = min(one.quoted_at or context.asked_at for one in wanted)
    if context.deps.clock.now() - oldest <= lasts:
        return []
    minutes = lasts // timedelta(minutes=1)
    return [ProposalFact("Too old", f"a rate is used for {minutes} minutes after its quote; propose a newer one")]


async def account_approval(context: ProposalContext, wanted: ApprovalArguments) -> list[ProposalFact]:
    until = "permanent" if wanted.expires_at is None else f"until {wanted.expires_at:%-d %b %Y, %H:%M} UTC"
    return [*await account(context, wanted), ProposalFact("Open", until)]


async def account(context: ProposalContext, _: Any) -> list[ProposalFact]:
    found = await account_store.find(context.tx, context.business_id, context.subject)
    if found is None:
        return []
    return [
        ProposalFact("Holder", found.holder, is_personal=True),
        ProposalFact("Kind", f"{found.account_type.value}, {found.currency} settled in {found.settlement_currency}"),
        ProposalFact("Now", "suspended" if found.is_suspended else found.status.value),
        *(
            ProposalFact("Not answered", one.question)
            for one in await question_store.list_of(context.tx, context.business_id, context.subject)
            if one.is_open
        ),
    ]


async def settings(context: ProposalContext, wanted: SettingArguments) -> list[ProposalFact]:
    business = await merchant_store.find_business(context.tx, context.business_id)
    if business is None:
        return []
    facts = [
        ProposalFact(
            SETTING_LABELS[name], setting_text(name, value), before=setting_text(name, getattr(business, name))
        )
        for name, value in wanted.changes.items()
    ]
    suspended = business.suspended_for if wanted.status else None
    return [*facts, ProposalFact("Suspended because", suspended)] if suspended else facts


async def price(context: ProposalContext, wanted: PriceArguments) -> list[ProposalFact]:
    business = await merchant_store.find_business(context.tx, context.business_id)
    method = priced_in(wanted.method)
    before = business.fee_rule_for(wanted.currency, method) if business else None
    label = f"{METHOD_WORDS[method]} in {wanted.currency}"
    return [ProposalFact(label, _fee(wanted, wanted.currency), _fee(before, wanted.currency))]


def _fee(rule: FeeRule | PriceArguments | None, currency: Currency) -> str:
    return fee_words(rule, currency) if rule else NONE


async def new_key(_look: ProposalContext, wanted: KeyArguments) -> list[ProposalFact]:
    asked = wanted.request
    limits = ", ".join(str(Money(m * Currency(c).minor_per_major, Currency(c))) for c, m in asked.refund_max.items())
    return [
        ProposalFact("Ends in", wanted.secret.last_four),
        ProposalFact("Only from", shown(asked.addresses) if asked.addresses else "anywhere"),
        *([ProposalFact("One refund up to", limits or "no limit")] if KeyScope.REFUND in asked.scopes else []),
        ProposalFact("Until", f"{asked.expires_at:%-d %b %Y, %H:%M} UTC" if asked.expires_at else "it is revoked"),
    ]


async def roll(context: ProposalContext, wanted: RollArguments) -> list[ProposalFact]:
    if wanted.key_id is None:
        return []
    key = await merchant_store.find_key(context.tx, context.business_id, wanted.key_id)
    return [ProposalFact("Key", f"{key.name or NONE}, ends in {key.last_four}")] if key else []


async def new_endpoint(_look: ProposalContext, wanted: EndpointArguments) -> list[ProposalFact]:
    return [ProposalFact("Address", wanted.url), ProposalFact("Events", ", ".join(wanted.events))]


async def endpoint(context: ProposalContext, wanted: EndpointChanges) -> list[ProposalFact]:
    found = await webhook_store.find(context.tx, context.business_id, context.subject)
    if found is None:
        return [ProposalFact(name.capitalize(), shown(value)) for name, value in wanted.changes.items()]
    address = [] if wanted.url else [ProposalFact("Address", found.url)]
    return address + [
        ProposalFact(
            "Address" if name == "url" else name.capitalize(), shown(value), before=shown(getattr(found, name))
        )
        for name, value in wanted.changes.items()
    ]


async def owner(context: ProposalContext, _: NoArguments) -> list[ProposalFact]:
    """Whether the address is known already: a person of another business gets this one too."""
    person = await subject_store.find_person(context.tx, context.subject)
    return [
        ProposalFact("Address", context.subject),
        ProposalFact("Person", person.name if person else "signs in for the first time"),
    ]


async def person(context: ProposalContext, _: NoArguments) -> list[ProposalFact]:
    found = await subject_store.find_person(context.tx, context.subject)
    if found is None:
        return []
    return [ProposalFact("Person", found.name), ProposalFact("Member of", ", ".join(found.businesses) or NONE)]


async def new_staff(context: ProposalContext, wanted: StaffArguments) -> list[ProposalFact]:
    known = await staff_store.find_by_email(context.tx, context.subject)
    return [
        ProposalFact("Address", context.subject),
        ProposalFact("Role", wanted.role.value, before=known.role.value if known else None),
    ]


async def staff(context: ProposalContext, _: NoArguments) -> list[ProposalFact]:
    known = await staff_store.find_by_email(context.tx, context.subject)
    return [ProposalFact("Name", known.member.name), ProposalFact("Role", known.role.value)] if known else []
