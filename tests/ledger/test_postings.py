"""Every posting, for every amount."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.booking import NOW, fee, ngn, usd
from tidegate.core.fee import Fee, FeeBearer, FeeRule, amount_expected, fee_on, fee_within
from tidegate.core.money import Currency, Money
from tidegate.ledger import postings
from tidegate.ledger.model import Conversion, Journal, JournalKind, LedgerAccount, Unbalanced

Moves = dict[tuple[str, str], int]

minors = st.integers(1, 10**12)
parts = st.integers(0, 10**12)


def moves(journal: Journal) -> Moves:
    return {(e.account.value, e.amount.currency.value): e.amount.minor for e in journal.entries}


def in_ngn(**minor_of: int) -> Moves:
    return {(account, "NGN"): minor for account, minor in minor_of.items()}


def conversion_of(received_minor: int, worth_minor: int, spread_minor: int, rounding_minor: int) -> Conversion:
    spread_minor = min(spread_minor, worth_minor - 1)
    converted = ngn(worth_minor - spread_minor - rounding_minor)
    return Conversion(usd(received_minor), ngn(worth_minor), converted, ngn(spread_minor))


@st.composite
def journals(draw: st.DrawFn, kind: JournalKind) -> tuple[Journal, Money]:
    """A journal of the kind, and the amount that moved."""
    posting = postings.POSTING_OF[kind]
    amount = ngn(draw(minors))
    taken = fee(draw(parts), draw(parts))
    if kind in (JournalKind.INFLOW_CONVERTED, JournalKind.HELD_CONVERTED):
        conversion = conversion_of(draw(minors), draw(minors), draw(parts), draw(st.sampled_from((-1, 0, 1))))
        return posting(cause="c", conversion=conversion, fee=taken, event_at=NOW), conversion.received
    if kind is JournalKind.REFUND_CONVERTED:
        worth = ngn(draw(minors))
        return posting(cause="c", refunded=usd(draw(minors)), debited=amount, worth=worth, event_at=NOW), amount
    names = {name for name, p in inspect.signature(posting).parameters.items() if p.default is inspect.Parameter.empty}
    amounts = dict.fromkeys(names & {"received", "held", "returned", "refunded", "collected"}, amount)
    fees = {"fee": taken} if "fee" in names else {}
    return posting(cause="c", event_at=NOW, **amounts, **fees), amount


@pytest.mark.parametrize("kind", list(JournalKind))
@given(st.data())
def test_every_kind_has_a_recipe_that_balances(kind: JournalKind, data: st.DataObject) -> None:
    journal, amount = data.draw(journals(kind))
    assert journal.kind is kind
    assert (journal.cause, journal.event_at) == ("c", NOW)
    goes_back = kind is JournalKind.CREDIT_REVERSED
    assert journal.entries[0].amount == (amount if goes_back else -amount)
    is_debit = journal.entries[0].account is LedgerAccount.WALLET or goes_back
    assert all(e.amount.minor > 0 for e in journal.entries if e.account is LedgerAccount.WALLET) or is_debit


@given(minors, minors, parts, parts, parts)
def test_a_credit_that_is_reversed_was_never_there(
    received: int, worth: int, spread: int, fee_minor: int, vat_minor: int
) -> None:
    taken = fee(fee_minor, vat_minor)
    forth = of(postings.inflow_credited, received=ngn(received), fee=taken)
    back = of(postings.credit_reversed, received=ngn(received), fee=taken)
    assert {place: -minor for place, minor in forth.items()} == back
    conversion = conversion_of(received, worth, spread, 0)
    forth = of(postings.inflow_converted, conversion=conversion, fee=taken)
    back = of(postings.credit_reversed, received=conversion.received, conversion=conversion, fee=taken)
    assert {place: -minor for place, minor in forth.items()} == back


def test_the_table_on_top_names_every_kind_and_nothing_else() -> None:
    table = (postings.__doc__ or "").split("─\n")[1].split('"Out of"')[0]
    named = re.findall(r"^    (\w+ \w+) ", table, flags=re.MULTILINE)
    assert {name.replace(" ", "_") for name in named} == {kind.value for kind in JournalKind}
    assert postings.POSTING_OF.keys() == set(JournalKind)


def of(posting: Callable[..., Journal], **arguments: Money | Fee | Conversion) -> Moves:
    return moves(posting(cause="c", event_at=NOW, **arguments))


def test_the_published_sample_settles_what_was_asked() -> None:
    """The customer bears the fee: NGN 101.51 arrive for NGN 100."""
    rule = FeeRule("test", 140, 750)
    asked = ngn(10_000)
    received = amount_expected(asked, FeeBearer.CUSTOMER, rule)
    settled = of(postings.checkout_settled, received=received, fee=fee_on(asked, rule))
    assert settled == in_ngn(rail=-10_151, wallet=10_000, fee=140, vat=11)


@pytest.mark.parametrize("posting", [postings.checkout_settled, postings.inflow_credited])
def test_a_business_that_bears_the_fee_gets_the_rest(posting: Callable[..., Journal]) -> None:
    assert of(posting, received=ngn(10_000), fee=fee(140, 11)) == in_ngn(rail=-10_000, wallet=9_849, fee=140, vat=11)


def test_a_checkout_settles_with_what_was_held_and_without_the_excess() -> None:
    settled = of(postings.checkout_settled, received=ngn(8_000), held=ngn(3_000), back=ngn(1_000), fee=fee(140, 11))
    assert settled == in_ngn(rail=-8_000, suspense=-3_000, wallet=9_849, fee=140, vat=11, returns=1_000)
    nothing_held = of(postings.checkout_settled, received=ngn(100), held=ngn(0), back=ngn(0), fee=fee(1))
    assert nothing_held == in_ngn(rail=-100, wallet=99, fee=1)


@given(minors, parts, parts, parts, parts)
def test_a_settlement_gives_back_the_excess_whole(
    received: int, held: int, back: int, fee_minor: int, vat_minor: int
) -> None:
    back = min(back, received + held - 1)
    settled = of(
        postings.checkout_settled, received=ngn(received), held=ngn(held), back=ngn(back), fee=fee(fee_minor, vat_minor)
    )
    assert settled.get(("returns", "NGN"), 0) == back
    kept = sum(settled.get((account, "NGN"), 0) for account in ("wallet", "fee", "vat"))
    assert kept == received + held - back


@pytest.mark.parametrize(("held", "back"), [(-1, 0), (0, -1), (0, 100), (50, 150)])
def test_a_settlement_leaves_something_and_takes_nothing_backwards(held: int, back: int) -> None:
    with pytest.raises(Unbalanced, match="is not a positive amount"):
        of(postings.checkout_settled, received=ngn(100), held=ngn(held), back=ngn(back), fee=fee(1))


def test_what_is_nothing_has_no_line() -> None:
    assert of(postings.checkout_settled, received=ngn(100), fee=fee(0)) == in_ngn(rail=-100, wallet=100)


@pytest.mark.parametrize(
    ("received", "fee_minor", "vat_minor", "expected"),
    [
        (100, 60, 40, in_ngn(rail=-100, fee=60, vat=40)),
        (100, 60, 41, in_ngn(rail=-100, fee=60, vat=40)),
        (100, 100, 8, in_ngn(rail=-100, fee=100)),
        (100, 500, 38, in_ngn(rail=-100, fee=100)),
    ],
)
def test_a_fee_never_takes_more_than_there_is(received: int, fee_minor: int, vat_minor: int, expected: Moves) -> None:
    assert of(postings.checkout_settled, received=ngn(received), fee=fee(fee_minor, vat_minor)) == expected


@given(parts, parts, parts)
def test_a_capped_fee_is_the_fee_as_far_as_the_money_goes(received: int, fee_minor: int, vat_minor: int) -> None:
    within = fee_within(ngn(received), fee(fee_minor, vat_minor))
    assert within.total.minor == min(received, fee_minor + vat_minor)
    assert within.fee.minor == min(received, fee_minor)
    assert within.vat.minor >= 0


def test_a_conversion_is_balanced_in_each_currency() -> None:
    conversion = Conversion(usd(10_000), worth=ngn(15_000_000), converted=ngn(14_849_999), spread=ngn(150_000))
    sides = in_ngn(conversion=-15_000_000, wallet=14_349_999, fee=500_000, spread=150_000, rounding=1)
    sides |= {("rail", "USD"): -10_000, ("conversion", "USD"): 10_000}
    assert of(postings.inflow_converted, conversion=conversion, fee=fee(500_000)) == sides
    held = {("suspense" if account == "rail" else account, c): minor for (account, c), minor in sides.items()}
    assert of(postings.held_converted, conversion=conversion, fee=fee(500_000)) == held


def test_where_the_others_go() -> None:
    some = ngn(500)
    assert of(postings.receipt_held, received=some) == in_ngn(rail=-500, suspense=500)
    assert of(postings.receipt_unclaimed, received=some) == in_ngn(rail=-500, suspense=500)
    assert of(postings.unclaimed_released, held=some) == in_ngn(suspense=-500, rail=500)
    assert of(postings.held_settled, held=some, fee=fee(7, 1)) == in_ngn(suspense=-500, wallet=492, fee=7, vat=1)
    assert of(postings.held_returning, held=some) == in_ngn(suspense=-500, returns=500)
    assert of(postings.receipt_returning, returned=some) == in_ngn(rail=-500, returns=500)
    assert of(postings.return_done, returned=some) == in_ngn(returns=-500, rail=500)
    assert of(postings.refund_started, refunded=some) == in_ngn(wallet=-500, refunds=500)
    assert of(postings.refund_done, refunded=some) == in_ngn(refunds=-500, rail=500)
    assert of(postings.refund_failed, refunded=some) == in_ngn(refunds=-500, wallet=500)


@pytest.mark.parametrize("minor", [0, -1])
def test_a_recipe_is_not_run_backwards(minor: int) -> None:
    with pytest.raises(Unbalanced, match="is not a positive amount"):
        of(postings.refund_started, refunded=ngn(minor))
    with pytest.raises(Unbalanced, match="is not a positive amount"):
        of(postings.checkout_settled, received=ngn(minor), fee=fee(0))


def test_a_fee_in_another_currency_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be combined"):
        of(postings.checkout_settled, received=ngn(100), fee=fee(1, currency=Currency.USD))
