"""Settlements per second: a rail's notification in, until success, receipt, journal, wallet and event are committed.

The yardstick is pgbench, which does the same writes in one SQL call each.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, partial

from bench import settle_yardstick, traffic
from bench.line import BenchFailed, Line, Sample
from bench.stage import Stage
from bench.waiting import Batch, Crowd, Waiting
from tidegate.core.money import Currency, Money
from tidegate.rail.interface import MoneyArrived, Notification, Party
from tidegate.rail.sandbox import notice
from tidegate.rail.sandbox.begin import account_number

PATH = "/intake/sandbox"
BUSINESSES = 100
TARGET = 0.5
# Of one business's rate over that of many.
TARGET_OF_ONE = 0.7
# How many are prepared for a run: this many times the fastest so far, or the first guess.
MARGIN = 1.5
FIRST_GUESS_PER_S = 6_000
# Settled before PostgreSQL looks at its tables: the API's sessions keep the plans they made first, and on tables
# that are almost empty those are scans of the whole table.
FIRST_ROWS = 2_000
# One wallet is one row: every further client of pgbench waits for its lock and makes the rest slower (854, 731, 595,
# 480 and 230 per second with 1, 2, 4, 10 and 32). Against 32, we would be measured against a traffic jam.
CLIENTS_ON_ONE_WALLET = 1
PAYER = Party(name="Ada Obi", account_number="0123456789", bank_name="Harbour Bank", bank_code="044")


def spread(stage: Stage) -> Line:
    return _Settlements.of(stage).line(
        "settle", f"settled, {BUSINESSES} businesses", businesses=BUSINESSES, clients=None, compared_to=None
    )


def one(stage: Stage) -> Line:
    return _Settlements.of(stage).line(
        "settle-one", "settled, one business", businesses=1, clients=CLIENTS_ON_ONE_WALLET, compared_to="settle"
    )


class _Settlements:
    """What both lines share."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._waiting = Waiting(stage)
        self._secret: bytes = stage.fetchrow("SELECT secret FROM deployment")["secret"]
        self._variables = self._learn()

    @staticmethod
    @cache
    def of(stage: Stage) -> _Settlements:
        return _Settlements(stage)

    def line(
        self, name: str, description: str, *, businesses: int, clients: int | None, compared_to: str | None
    ) -> Line:
        """`clients` of the yardstick; None for as many as ours."""
        crowd = self._waiting.open_crowd(businesses)
        settle_yardstick.settle_all(self._stage, self._waiting.make(crowd, FIRST_ROWS), self._variables)
        return Line(
            name=name,
            description=description,
            yardstick="pgbench, the same writes" + (f", {clients} client" if clients else ""),
            run_ours=self._foreseeing(crowd, self._ours),
            run_yardstick=self._foreseeing(crowd, partial(self._yardstick, clients=clients)),
            target=TARGET_OF_ONE if compared_to else TARGET,
            compared_to=compared_to,
        )

    def _foreseeing(self, crowd: Crowd, run: Callable[[Batch, float], Sample]) -> Callable[[float], Sample]:
        """Gives every run as many fresh payments as it can use; counts what it did in the books."""
        fastest = [float(FIRST_GUESS_PER_S)]

        def with_enough(seconds: float) -> Sample:
            count = round(MARGIN * max(fastest) * (seconds + traffic.LEAD_S))
            batch = self._waiting.make(crowd, count)
            before = self._settled()
            sample = run(batch, seconds)
            made = self._settled() - before
            if made != sample.details["answers"]:
                raise BenchFailed(f"{sample.details['answers']} successes, but {made} new journals")
            fastest.append(sample.per_second)
            return sample

        return with_enough

    def _ours(self, batch: Batch, seconds: float) -> Sample:
        # Signed just before they are sent, since a signature is good for five minutes only.
        requests = [self._request(batch.first + index) for index in range(batch.count)]
        return self._stage.send(self._stage.api, requests, expected_status=200, seconds=seconds, is_each_once=True)

    def _yardstick(self, batch: Batch, seconds: float, *, clients: int | None = None) -> Sample:
        settle_yardstick.begin_at(self._stage, batch)
        scripts = [settle_yardstick.script(batch)]
        return self._stage.pgbench(scripts, variables=self._variables, seconds=seconds, clients=clients)

    def _request(self, number: int) -> str:
        now = datetime.now(UTC)
        transaction_id = f"sbx_{secrets.token_hex(12)}"
        news = MoneyArrived(
            account_number=account_number(Currency.NGN, number),
            transaction_id=transaction_id,
            amount=Money(self._waiting.minor, Currency.NGN),
            payer=PAYER,
            payee_name="Shop",
            scheme="sandbox",
            remittance=None,
            valued_at=now,
        )
        raw = notice.sign(notice.write(Notification(id=f"credit-{transaction_id}", news=news)), self._secret, now=now)
        signature = {notice.SIGNATURE_HEADER: raw.headers[notice.SIGNATURE_HEADER]}
        return traffic.request("POST", PATH, signature, raw.body.decode())

    def _settled(self) -> int:
        row = self._stage.fetchrow("SELECT count(*) AS journals FROM journal WHERE kind = 'checkout_settled'")
        return int(row["journals"])

    def _learn(self) -> dict[str, str]:
        """Lets the API settle one payment, makes the yardstick of it, and compares the two on a second payment."""
        batch = self._waiting.make(self._waiting.open_crowd(1), 2)
        first, second = batch.first, batch.first + 1
        waiting = settle_yardstick.written(self._stage, first)
        self._deliver(first)
        settled = settle_yardstick.written(self._stage, first)
        values = settle_yardstick.create(self._stage, waiting, settled)
        settle_yardstick.settle_all(self._stage, Batch(batch.crowd, second, 1), values)
        settle_yardstick.refuse_difference(settled, settle_yardstick.written(self._stage, second))
        return values

    def _deliver(self, number: int) -> None:
        head, _, body = self._request(number).partition("\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
        status, answer = self._stage.api.ask("POST", PATH, headers=headers, body=body.encode())
        if status != 200:
            raise BenchFailed(f"the API refused a notification: {status} {answer.decode()}")
