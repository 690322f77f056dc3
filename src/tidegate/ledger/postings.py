"""Every movement of money.

    journal            out of      into                      when
    ─────────────────  ──────────  ────────────────────────  ─────────────────────────────────────────────────────
    checkout settled   rail,       wallet, fee, vat,         a checkout is paid, with what was held for it before;
                       suspense    returns                   … an excess that is not accepted is returned
    inflow credited    rail        wallet, fee, vat          a virtual account received its own currency
    inflow converted   rail        conversion                … another currency than its wallet's;
                       conversion  wallet, fee, vat,         … each currency sums to zero by itself
                                   spread, rounding
    receipt held       rail        suspense                  more is expected, or it is held for review
    receipt unclaimed  rail        suspense                  the owner is unknown; booked under the platform
    unclaimed released suspense    rail                      … its owner is found, and receives it like any receipt;
                                                             … or it was settled outside, at the bank
    held settled       suspense    wallet, fee, vat          what was held is enough, or was approved
    held converted     suspense    as inflow converted       what was held was approved
    held returning     suspense    returns                   what was held is returned
    receipt returning  rail        returns                   a receipt is returned: all of it, or the excess
    return done        returns     rail                      the rail confirmed the return
    return offset      returns     suspense                  the rail did not return it, but had taken the credit back
    refund started     wallet,     refunds                   a refund is processing; the wallet shows it as locked;
                       fee, vat                              … with our fee where the fee rule returns it
    refund done        refunds     rail                      the rail confirmed it
    refund converted   refunds     conversion, exchange      … of a converted inflow, at a rate that was chosen; what
                       conversion  rail                      … it differs from that of the day is exchange
    refund failed      refunds     wallet, fee, vat          the rail refused it
    credit reversed    as inflow credited or converted,      the bank reversed an inflow, or a checkout's transfer:
                       the other way round                   the wallet and our fee are debited
                                                             … what it does not cover is owed: suspense is negative
    held reversed      suspense    rail                      … what was held
    dispute held       wallet      disputes                  a payment is disputed; the wallet shows it as locked
    dispute released   disputes    wallet                    the merchant won; or a credit is reversed at once
    debt collected     wallet      suspense                  … the wallet has a balance again

"Out of" is debited (negative), "into" is credited (positive). The fee bearer changes the amounts asked for and
received, never the journal. A line of zero is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from tidegate.core.fee import Fee, fee_within
from tidegate.core.money import Money
from tidegate.ledger.model import Conversion, Entry, Journal, JournalKind, LedgerAccount, Unbalanced


def checkout_settled(
    *, cause: str, received: Money, fee: Fee, event_at: datetime, held: Money | None = None, back: Money | None = None
) -> Journal:
    """`held` arrived before `received`; `back` is the part of both that is returned."""
    held, back = held or Money.zero(received.currency), back or Money.zero(received.currency)
    wanted = received + held - back
    _refuse_backwards(received, wanted, *(part for part in (held, back) if part.minor != 0))
    sources = _without_zeros(Entry(LedgerAccount.RAIL, -received), Entry(LedgerAccount.SUSPENSE, -held))
    entries = (*sources, *_shares(wanted, fee), *_without_zeros(Entry(LedgerAccount.RETURNS, back)))
    return Journal(JournalKind.CHECKOUT_SETTLED, cause, entries, event_at)


def inflow_credited(*, cause: str, received: Money, fee: Fee, event_at: datetime) -> Journal:
    return Journal(JournalKind.INFLOW_CREDITED, cause, _shared(received, LedgerAccount.RAIL, fee), event_at)


def inflow_converted(*, cause: str, conversion: Conversion, fee: Fee, event_at: datetime) -> Journal:
    return Journal(JournalKind.INFLOW_CONVERTED, cause, _converted(conversion, LedgerAccount.RAIL, fee), event_at)


def receipt_held(*, cause: str, received: Money, event_at: datetime) -> Journal:
    return Journal(
        JournalKind.RECEIPT_HELD, cause, _moved(received, LedgerAccount.RAIL, LedgerAccount.SUSPENSE), event_at
    )


def receipt_unclaimed(*, cause: str, received: Money, event_at: datetime) -> Journal:
    return Journal(
        JournalKind.RECEIPT_UNCLAIMED, cause, _moved(received, LedgerAccount.RAIL, LedgerAccount.SUSPENSE), event_at
    )


def unclaimed_released(*, cause: str, held: Money, event_at: datetime) -> Journal:
    return Journal(
        JournalKind.UNCLAIMED_RELEASED, cause, _moved(held, LedgerAccount.SUSPENSE, LedgerAccount.RAIL), event_at
    )


def held_settled(*, cause: str, held: Money, fee: Fee, event_at: datetime) -> Journal:
    return Journal(JournalKind.HELD_SETTLED, cause, _shared(held, LedgerAccount.SUSPENSE, fee), event_at)


def held_converted(*, cause: str, conversion: Conversion, fee: Fee, event_at: datetime) -> Journal:
    return Journal(JournalKind.HELD_CONVERTED, cause, _converted(conversion, LedgerAccount.SUSPENSE, fee), event_at)


def held_returning(*, cause: str, held: Money, event_at: datetime) -> Journal:
    return Journal(
        JournalKind.HELD_RETURNING, cause, _moved(held, LedgerAccount.SUSPENSE, LedgerAccount.RETURNS), event_at
    )


def receipt_returning(*, cause: str, returned: Money, event_at: datetime) -> Journal:
    return Journal(
        JournalKind.RECEIPT_RETURNING, cause, _moved(returned, LedgerAccount.RAIL, LedgerAccount.RETURNS), event_at
    )


def return_done(*, cause: str, returned: Money, event_at: datetime) -> Journal:
    return Journal(
        JournalKind.RETURN_DONE, cause, _moved(returned, LedgerAccount.RETURNS, LedgerAccount.RAIL), event_at
    )


def return_offset(*, cause: str, returned: Money, event_at: datetime) -> Journal:
    return Journal(
        JournalKind.RETURN_OFFSET, cause, _moved(returned, LedgerAccount.RETURNS, LedgerAccount.SUSPENSE), event_at
    )


def refund_started(*, cause: str, refunded: Money, event_at: datetime, fee: Fee | None = None) -> Journal:
    """`fee` is the part of our fee that is refunded with it."""
    entries = (*_merchant_share(refunded, fee, -1), Entry(LedgerAccount.REFUNDS, refunded))
    return Journal(JournalKind.REFUND_STARTED, cause, entries, event_at)


def refund_done(*, cause: str, refunded: Money, event_at: datetime) -> Journal:
    return Journal(
        JournalKind.REFUND_DONE, cause, _moved(refunded, LedgerAccount.REFUNDS, LedgerAccount.RAIL), event_at
    )


def refund_converted(*, cause: str, refunded: Money, debited: Money, worth: Money, event_at: datetime) -> Journal:
    """`debited` was taken from the wallet; `worth` is what `refunded` costs at the rate of the day."""
    _refuse_backwards(refunded, debited, worth)
    entries = (
        Entry(LedgerAccount.REFUNDS, -debited),
        Entry(LedgerAccount.CONVERSION, worth),
        *_without_zeros(Entry(LedgerAccount.EXCHANGE, debited - worth)),
        Entry(LedgerAccount.CONVERSION, -refunded),
        Entry(LedgerAccount.RAIL, refunded),
    )
    return Journal(JournalKind.REFUND_CONVERTED, cause, entries, event_at)


def refund_failed(*, cause: str, refunded: Money, event_at: datetime, fee: Fee | None = None) -> Journal:
    entries = (Entry(LedgerAccount.REFUNDS, -refunded), *_merchant_share(refunded, fee, 1))
    return Journal(JournalKind.REFUND_FAILED, cause, entries, event_at)


def credit_reversed(
    *, cause: str, received: Money, fee: Fee, event_at: datetime, conversion: Conversion | None = None,
    owed: Money | None = None,
) -> Journal:  # fmt: skip
    """`owed` is the part of the credit that the wallet does not cover."""
    forth = (
        _converted(conversion, LedgerAccount.RAIL, fee) if conversion else _shared(received, LedgerAccount.RAIL, fee)
    )
    back = tuple(Entry(entry.account, -entry.amount) for entry in forth)
    if owed is not None and owed.minor != 0:
        _refuse_backwards(owed)
        back = (*_without_zeros(*(_less_owed(entry, owed) for entry in back)), Entry(LedgerAccount.SUSPENSE, -owed))
    return Journal(JournalKind.CREDIT_REVERSED, cause, back, event_at)


def _less_owed(entry: Entry, owed: Money) -> Entry:
    return Entry(entry.account, entry.amount + owed) if entry.account is LedgerAccount.WALLET else entry


def debt_collected(*, cause: str, collected: Money, event_at: datetime) -> Journal:
    return Journal(
        JournalKind.DEBT_COLLECTED, cause, _moved(collected, LedgerAccount.WALLET, LedgerAccount.SUSPENSE), event_at
    )


def dispute_held(*, cause: str, held: Money, event_at: datetime) -> Journal:
    return Journal(
        JournalKind.DISPUTE_HELD, cause, _moved(held, LedgerAccount.WALLET, LedgerAccount.DISPUTES), event_at
    )


def dispute_released(*, cause: str, held: Money, event_at: datetime) -> Journal:
    return Journal(
        JournalKind.DISPUTE_RELEASED, cause, _moved(held, LedgerAccount.DISPUTES, LedgerAccount.WALLET), event_at
    )


def held_reversed(*, cause: str, held: Money, event_at: datetime) -> Journal:
    return Journal(JournalKind.HELD_REVERSED, cause, _moved(held, LedgerAccount.SUSPENSE, LedgerAccount.RAIL), event_at)


POSTING_OF: dict[JournalKind, Callable[..., Journal]] = {
    JournalKind.CHECKOUT_SETTLED: checkout_settled,
    JournalKind.INFLOW_CREDITED: inflow_credited,
    JournalKind.INFLOW_CONVERTED: inflow_converted,
    JournalKind.RECEIPT_HELD: receipt_held,
    JournalKind.RECEIPT_UNCLAIMED: receipt_unclaimed,
    JournalKind.UNCLAIMED_RELEASED: unclaimed_released,
    JournalKind.HELD_SETTLED: held_settled,
    JournalKind.HELD_CONVERTED: held_converted,
    JournalKind.HELD_RETURNING: held_returning,
    JournalKind.RECEIPT_RETURNING: receipt_returning,
    JournalKind.RETURN_DONE: return_done,
    JournalKind.RETURN_OFFSET: return_offset,
    JournalKind.REFUND_STARTED: refund_started,
    JournalKind.REFUND_DONE: refund_done,
    JournalKind.REFUND_CONVERTED: refund_converted,
    JournalKind.REFUND_FAILED: refund_failed,
    JournalKind.CREDIT_REVERSED: credit_reversed,
    JournalKind.HELD_REVERSED: held_reversed,
    JournalKind.DEBT_COLLECTED: debt_collected,
    JournalKind.DISPUTE_HELD: dispute_held,
    JournalKind.DISPUTE_RELEASED: dispute_released,
}


def _moved(amount: Money, source: LedgerAccount, target: LedgerAccount) -> tuple[Entry, ...]:
    _refuse_backwards(amount)
    return Entry(source, -amount), Entry(target, amount)


def _shared(received: Money, source: LedgerAccount, fee: Fee) -> tuple[Entry, ...]:
    _refuse_backwards(received)
    return Entry(source, -received), *_shares(received, fee)


def _converted(conversion: Conversion, source: LedgerAccount, fee: Fee) -> tuple[Entry, ...]:
    _refuse_backwards(conversion.received)
    return (
        Entry(source, -conversion.received),
        Entry(LedgerAccount.CONVERSION, conversion.received),
        Entry(LedgerAccount.CONVERSION, -conversion.worth),
        *_shares(conversion.converted, fee),
        *_without_zeros(
            Entry(LedgerAccount.SPREAD, conversion.spread), Entry(LedgerAccount.ROUNDING, conversion.rounding)
        ),
    )


def _merchant_share(refunded: Money, fee: Fee | None, sign: int) -> tuple[Entry, ...]:
    """A refund is borne by the merchant and, for a returned fee and its tax, by us and the tax office."""
    _refuse_backwards(refunded)
    nothing = Money.zero(refunded.currency)
    given = fee or Fee(nothing, nothing)
    parts = (
        (LedgerAccount.WALLET, refunded - given.total),
        (LedgerAccount.FEE, given.fee),
        (LedgerAccount.VAT, given.vat),
    )
    return _without_zeros(*(Entry(account, Money(sign * part.minor, part.currency)) for account, part in parts))


def _shares(amount: Money, fee: Fee) -> tuple[Entry, ...]:
    """The shares of the merchant, of us and of the tax office."""
    taken = fee_within(amount, fee)
    return _without_zeros(
        Entry(LedgerAccount.WALLET, amount - taken.total),
        Entry(LedgerAccount.FEE, taken.fee),
        Entry(LedgerAccount.VAT, taken.vat),
    )


def _without_zeros(*entries: Entry) -> tuple[Entry, ...]:
    return tuple(entry for entry in entries if entry.amount.minor != 0)


def _refuse_backwards(*amounts: Money) -> None:
    """A posting fixes the direction; a negative amount would reverse it."""
    for amount in amounts:
        if amount.minor <= 0:
            raise Unbalanced(f"{amount} is not a positive amount")
