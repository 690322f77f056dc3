"""Inflows per second: a bank's word of a credit to a virtual account, until it is recorded, booked and to be told.

The yardstick is pgbench, which does the same writes in one SQL call each: the notification, the inflow with its indexes
and its tally, the journal by post_journal, the event.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from bench import inflow_yardstick, traffic
from bench.line import BenchFailed, Line, Sample
from bench.line_settle import BUSINESSES, FIRST_ROWS, MARGIN, PATH
from bench.settle_yardstick import refuse_difference
from bench.stage import Stage
from tidegate.core.money import Currency, Money
from tidegate.rail.interface import MoneyArrived, Notification, Party
from tidegate.rail.sandbox import notice
from tidegate.rail.sandbox.account import details_of

FIRST_GUESS_PER_S = 4_000
TARGET = 0.4
HOLDER = "Ada Obi"
MINOR = 25_000
PAYER = Party(name="Chidi Eze", account_number="0123456789", bank_name="Harbour Bank", bank_code="044")


def line(stage: Stage) -> Line:
    inflows = _Inflows(stage)
    return Line(
        name="inflow",
        description=f"inflows taken in, {BUSINESSES} businesses",
        yardstick="pgbench, the same writes",
        run_ours=inflows.counted(inflows.run_ours),
        run_yardstick=inflows.counted(inflows.run_yardstick),
        target=TARGET,
    )


class _Inflows:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._secret: bytes = stage.fetchrow("SELECT secret FROM deployment")["secret"]
        self._numbers = [details_of(Currency.EUR, serial=one, reference="").account_number for one in _serials()]
        inflow_yardstick.open_accounts(stage, self._numbers, holder=HOLDER)
        self._fastest = float(FIRST_GUESS_PER_S)
        self._variables = self._learn()
        inflow_yardstick.record(stage, range(2, FIRST_ROWS), self._variables)

    def counted(self, run: Callable[[float], Sample]) -> Callable[[float], Sample]:
        """Every success must be an inflow that was credited, with its journal."""

        def checked(seconds: float) -> Sample:
            before = self._recorded()
            sample = run(seconds)
            made = {name: count - before[name] for name, count in self._recorded().items()}
            if set(made.values()) != {sample.details["answers"]}:
                raise BenchFailed(f"{sample.details['answers']} successes, but {made} new")
            return sample

        return checked

    def run_ours(self, seconds: float) -> Sample:
        # Signed just before they are sent, since a signature is good for five minutes only.
        count = round(MARGIN * self._fastest * (seconds + traffic.LEAD_S))
        requests = [self._request(self._numbers[one % BUSINESSES]) for one in range(count)]
        sample = self._stage.send(self._stage.api, requests, expected_status=200, seconds=seconds, is_each_once=True)
        self._fastest = max(self._fastest, sample.per_second)
        return sample

    def run_yardstick(self, seconds: float) -> Sample:
        return self._stage.pgbench([inflow_yardstick.SCRIPT], variables=self._variables, seconds=seconds)

    def _request(self, account_number: str) -> str:
        now = datetime.now(UTC)
        transaction_id = f"sbx_{secrets.token_hex(12)}"
        news = MoneyArrived(
            account_number=account_number,
            transaction_id=transaction_id,
            amount=Money(MINOR, Currency.EUR),
            payer=PAYER,
            payee_name=HOLDER,
            scheme="sandbox",
            remittance=None,
            valued_at=now,
        )
        raw = notice.sign(notice.write(Notification(id=f"credit-{transaction_id}", news=news)), self._secret, now=now)
        signature = {notice.SIGNATURE_HEADER: raw.headers[notice.SIGNATURE_HEADER]}
        return traffic.request("POST", PATH, signature, raw.body.decode())

    def _recorded(self) -> dict[str, int]:
        row: dict[str, int] = self._stage.fetchrow(
            "SELECT (SELECT count(*) FROM collection WHERE status = 'successful') AS inflows,"
            " (SELECT count(*) FROM journal WHERE kind = 'inflow_credited') AS journals,"
            " (SELECT sum(count)::bigint FROM collection_tally WHERE account_id = '' AND day = '-infinity') AS tallied"
        )
        return row

    def _learn(self) -> dict[str, str]:
        """Lets the API record one inflow, makes the yardstick of it, and compares what the two have written."""
        head, _, body = self._request(self._numbers[0]).partition("\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
        status, answer = self._stage.api.ask("POST", PATH, headers=headers, body=body.encode())
        if status != 200:
            raise BenchFailed(f"the API refused a notification: {status} {answer.decode()}")
        transaction_id = json.loads(body)["transactionId"]
        ours: dict[str, Any] = inflow_yardstick.written(self._stage, transaction_id)
        values = inflow_yardstick.create(self._stage, ours)
        inflow_yardstick.record(self._stage, range(1, 2), values)
        yardstick = inflow_yardstick.written(self._stage, inflow_yardstick.transaction_id(1))
        refuse_difference(ours, yardstick)
        return values


def _serials() -> range:
    """Far above those that the sandbox's rail gives."""
    return range(500_000_000, 500_000_000 + BUSINESSES)
