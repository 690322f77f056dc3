"""Faults of an API, on request: each holds for the next calls of a path."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    LOST = "lost"  # carried out, but never answered
    REFUSED = "refused"  # the connection ends before anything is done
    HTML = "html"  # 502 with HTML, after the work
    PAGE = "page"  # 200 with HTML, after the work
    SLOW = "slow"  # carried out; the answer comes late
    CUT = "cut"  # carried out; the answer breaks off
    HUGE = "huge"  # carried out; the answer never ends
    BUSY = "busy"  # 429, nothing done
    REJECTED = "rejected"  # rejected in the API's own form, nothing done
    ERROR = "error"  # 500 in the API's own form, nothing done
    ERROR_AFTER = "error_after"  # 500 in the API's own form, after the work


@dataclass
class Fault:
    kind: FaultKind
    # Of the request, such as "/charge"; empty for any.
    path: str = ""
    times: int = 1
    # Such as "POST"; empty for any.
    method: str = ""


class Faults:
    def __init__(self) -> None:
        self._pending: list[Fault] = []

    def add(self, fault: Fault) -> None:
        self._pending.append(fault)

    def clear(self) -> None:
        self._pending.clear()

    def take(self, method: str, path: str) -> FaultKind | None:
        for fault in self._pending:
            if path.startswith(fault.path) and fault.method in ("", method):
                fault.times -= 1
                if fault.times <= 0:
                    self._pending.remove(fault)
                return fault.kind
        return None
