"""The address the customer returns to: what is allowed, and how the reference is added."""

from __future__ import annotations

from urllib.parse import quote, unquote_plus

from tidegate.core.ids import Mode
from tidegate.infra.address import WebUrl


class RedirectUrl(WebUrl):
    __slots__ = ()

    def problem_in(self, mode: Mode) -> str | None:
        """Why the address is refused. The sandbox also allows a developer's own machine."""
        if mode is Mode.LIVE and not self.is_https:
            return "must be an https address"
        if mode is Mode.LIVE and not self.is_public:
            return "must have a public host, not a local or private address"
        return None


def with_reference(url: str, reference: str) -> str:
    """The address with exactly one `reference` parameter; other parameters and the fragment stay as they are."""
    before, hash_sign, fragment = url.partition("#")
    address, _, query = before.partition("?")
    ours = f"reference={quote(reference, safe='')}"
    kept: list[str] = []
    is_placed = False
    for part in query.split("&") if query else []:
        if unquote_plus(part.partition("=")[0]) != "reference":
            kept.append(part)
        elif not is_placed:
            kept.append(ours)
            is_placed = True
    if not is_placed:
        kept.append(ours)
    return f"{address}?{'&'.join(kept)}{hash_sign}{fragment}"
