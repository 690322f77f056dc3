"""The merchant's operations on its own business."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from tidegate.core.ids import Mode
from tidegate.infra.http.operation import Answer, Call, Operation
from tidegate.merchant import examples, wire
from tidegate.merchant.authentication import SECRET_KEY


@dataclass(frozen=True)
class MerchantApi:
    mode: Mode
    checkout_url: str

    async def me(self, call: Call) -> Answer:
        return call.answer(self._record(call))

    async def me_with_underscore(self, call: Call) -> Answer:
        """As clients of other providers read it at their older address."""
        record = self._record(call)
        return call.answer({"_id": record.id, **msgspec.to_builtins(record)})

    def _record(self, call: Call) -> wire.BusinessRecord:
        return wire.record_of(call.caller.business, mode=self.mode, checkout_url=self.checkout_url)

    def operations(self) -> list[Operation]:
        return [
            Operation(
                method="GET",
                path="/profile/merchants/me",
                name="getBusiness",
                summary="Get your business",
                description=examples.GET_DESCRIPTION,
                handler=self.me,
                also_at={"/profile/business/me": self.me_with_underscore},
                credentials=SECRET_KEY,
                response=wire.BusinessRecord,
                response_example=examples.RECORD,
                success_message="Business found",
                group="Business",
                group_words=examples.GROUP,
            )
        ]
