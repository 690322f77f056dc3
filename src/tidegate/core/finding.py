"""What an examination found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """`advice` is for a failure."""

    subject: str
    is_well: bool
    what: str
    advice: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"subject": self.subject, "ok": self.is_well, "what": self.what, "advice": self.advice}
