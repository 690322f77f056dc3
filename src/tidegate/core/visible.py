"""A stranger's text where a terminal, a spreadsheet or an editor shows it: nothing in it is obeyed."""

from __future__ import annotations

import re

# C0 and C1 controls, line and paragraph separators, and all that turns the direction of writing.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str, *, keep: str = "") -> str:
    r"""Each control as its escape, such as \u001b, which JSON reads back. `keep` names those that may stay."""
    return _CONTROLS.sub(lambda found: found[0] if found[0] in keep else f"\\u{ord(found[0]):04x}", text)
