"""pawaPay's identifiers are ours: UUIDs, derived from our references, so that a repeat has the same."""

from __future__ import annotations

import hashlib
import uuid


def id_of(business_id: str, reference: str) -> str:
    digest = hashlib.sha256(f"pawapay/{business_id}/{reference}".encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))
