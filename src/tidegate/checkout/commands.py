"""The payer's actions on a payment, shared by the JSON API and the page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from tidegate.checkout import instrument, receipt_store, wire
from tidegate.checkout.language.catalog import DEFAULT_LANGUAGE
from tidegate.checkout.payer_limit import PayerLimit, fingerprint_of
from tidegate.core import errors, ids
from tidegate.core.clock import Clock
from tidegate.core.method import Method
from tidegate.infra.batcher import Batcher
from tidegate.infra.http.read import read
from tidegate.infra.per_business import per_business
from tidegate.merchant.key_cache import KeyCache
from tidegate.merchant.model import Business
from tidegate.payment import pay, view_store
from tidegate.payment.attempt import AttemptStatus
from tidegate.payment.change import PaymentSnapshot
from tidegate.payment.pay import NOT_FOUND, Payer
from tidegate.payment.store import PaymentKey
from tidegate.payment.transition import is_final
from tidegate.payment.view_store import PaymentView
from tidegate.rail.choice import MethodOffer
from tidegate.rail.deps import PaymentDeps


class PayerRequest(msgspec.Struct, frozen=True):
    """One payer's request for one payment. `client` is the address that rate limits count."""

    pay_code: str
    client: str
    # What the payer reads.
    language: str = DEFAULT_LANGUAGE


@dataclass(frozen=True)
class CheckoutCommands:
    deps: PaymentDeps
    key_cache: KeyCache
    clock: Clock
    limit: PayerLimit
    checkout_url: str
    # Of the fingerprints of cards; available once the database is open.
    card_key: Callable[[], bytes]

    async def look(self, request: PayerRequest) -> PaymentSnapshot:
        with self._counting_unknown(request):
            return await self._look(request)

    async def _look(self, request: PayerRequest) -> PaymentSnapshot:
        code = ids.business_code_of(request.pay_code)
        # Read before the cached business: a change during the wait must not pass for the cached state.
        epoch = self.key_cache.epoch
        # Most requests are for a payment of a cached business.
        business = (code and self.key_cache.recall_business(code)) or await self._owner_of(code)
        view = await self._looks.do(PaymentKey(business.id, request.pay_code))
        if view is None:
            raise errors.NotFound(NOT_FOUND)
        if view.epoch != epoch:
            # A business has changed, perhaps this one.
            return await pay.view(self.deps.db, business.id, request.pay_code)
        return PaymentSnapshot(business, view.payment, view.attempt)

    @cached_property
    def _looks(self) -> Batcher[PaymentKey, PaymentView | None]:
        return Batcher(self._find_views, concurrency=1, ticks=1)

    async def _find_views(self, keys: Sequence[PaymentKey]) -> list[PaymentView | None]:
        if self.deps.db.is_cluster:
            return await per_business(keys, self._find_views_of_business)
        async with self.deps.db.connection() as tx:
            return await view_store.find_views(tx, keys)

    async def _find_views_of_business(self, keys: Sequence[PaymentKey]) -> list[PaymentView | None]:
        async with self.deps.db.connection() as tx:
            return await view_store.find_views_of_business(tx, keys)

    async def charge(self, request: PayerRequest, value: Any, *, seen: int | None = None) -> PaymentSnapshot:
        """`value` is the request's JSON. With `seen`, an attempt starts only if the payment still has that version: a
        second click or a second window finds it changed."""
        async with self._payer(request) as payer:
            snapshot, fingerprint = await self._charge(payer, request, value, seen)
        self._count_decline(request, snapshot, fingerprint)
        return snapshot

    async def _charge(
        self, payer: Payer, request: PayerRequest, value: Any, seen: int | None
    ) -> tuple[PaymentSnapshot, str | None]:
        """With the fingerprint of the card, where one was typed here."""
        charge = read(
            value, wire.Charge, lambda _: (*wire.card_data_elsewhere(value), *wire.expiry_passed(value, now=payer.now))
        )
        method = wire.method_named(charge.type, self.deps.names)
        fingerprint = fingerprint_of(str(charge.card.number), self.card_key()) if charge.card else None
        if method is Method.CARD:
            self.limit.refuse_cards(request.client, payer.business_id, fingerprint)
        snapshot = await pay.view(self.deps.db, payer.business_id, payer.pay_code)
        if seen is not None and seen != snapshot.payment.version:
            raise pay.changed_elsewhere()
        order = snapshot.payment.order
        if method not in order.methods:
            raise errors.Invalid(errors.Problem("type", "is not offered for this payment"))
        chosen, details = instrument.instrument_from(
            charge,
            method,
            order.asked.currency,
            offer=self.offers_of(snapshot).get(method),
            account_name=snapshot.business.name,
            now=payer.now,
        )
        pay.refuse_same_prompt(snapshot, method, details, payer.now)
        if snapshot.business.receipts_by_mail and not is_final(snapshot.payment.status):
            # Before the attempt, so that no payment succeeds without it.
            async with self.deps.db.connection() as tx:
                await receipt_store.ask(tx, snapshot.payment, language=request.language, now=payer.now)
        return await pay.charge(payer, snapshot, method, chosen, details), fingerprint

    async def note_language(self, snapshot: PaymentSnapshot, language: str) -> None:
        """The payer has chosen another one: the receipt will be in it too."""
        if snapshot.business.receipts_by_mail:
            async with self.deps.db.connection() as tx:
                await receipt_store.set_language(tx, snapshot.payment, language)

    async def authorize(self, request: PayerRequest, value: Any) -> PaymentSnapshot:
        async with self._payer(request) as payer:
            given = read(value, wire.Authorize, lambda _: (*wire.one_answer(value), *wire.card_data_elsewhere(value)))
            snapshot = await pay.authorize(payer, instrument.authorization_from(given))
        self._count_decline(request, snapshot)
        return snapshot

    async def resend(self, request: PayerRequest) -> PaymentSnapshot:
        async with self._payer(request) as payer:
            return await pay.resend(payer)

    async def report_transfer_sent(self, request: PayerRequest) -> PaymentSnapshot:
        async with self._payer(request) as payer:
            return await pay.report_transfer_sent(payer)

    async def cancel(self, request: PayerRequest) -> PaymentSnapshot:
        async with self._payer(request) as payer:
            return await pay.cancel(payer)

    async def extend(self, request: PayerRequest) -> PaymentSnapshot:
        async with self._payer(request) as payer:
            return await pay.extend(payer)

    async def resume_after_redirect(self, request: PayerRequest) -> PaymentSnapshot:
        async with self._payer(request) as payer:
            return await pay.resume_after_redirect(payer)

    def offers_of(self, snapshot: PaymentSnapshot) -> dict[Method, MethodOffer]:
        return pay.offers_of(self.deps, snapshot)

    def can_extend(self, snapshot: PaymentSnapshot) -> bool:
        return snapshot.attempt is not None and pay.can_extend(self.deps, snapshot.attempt)

    def can_resend(self, snapshot: PaymentSnapshot) -> bool:
        return snapshot.attempt is not None and pay.can_resend(self.deps, snapshot.attempt)

    @asynccontextmanager
    async def _payer(self, request: PayerRequest) -> AsyncIterator[Payer]:
        with self._counting_unknown(request):
            business = await self._owner_of(ids.business_code_of(request.pay_code))
            page = f"{self.checkout_url}/{request.pay_code}"
            yield Payer(self.deps, business.id, request.pay_code, page, self.clock.now_of(business.id))

    @contextmanager
    def _counting_unknown(self, request: PayerRequest) -> Iterator[None]:
        try:
            yield
        except errors.NotFound:
            self.limit.count_unknown(request.client)
            raise

    def _count_decline(self, request: PayerRequest, snapshot: PaymentSnapshot, fingerprint: str | None = None) -> None:
        attempt = snapshot.attempt
        if attempt and attempt.method is Method.CARD and attempt.status is AttemptStatus.FAILED:
            self.limit.count_decline(request.client, attempt.business_id, fingerprint)

    async def _owner_of(self, code: str | None) -> Business:
        """A pay code names its business. A forged one has no business's code, and costs no lookup."""
        business = await self.key_cache.business_by_code(code) if code else None
        if business is None:
            raise errors.NotFound(NOT_FOUND)
        return business
