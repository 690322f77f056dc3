"""Makes untrusted text safe for terminals, spreadsheets and editors: control characters are escaped."""

from __future__ import annotations

import re

# Marks, embeddings, overrides and isolates: they can make a name read as another one.
DIRECTION_MARKS = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
# C0 and C1 controls, line and paragraph separators, and controls of the writing direction.
_CONTROLS = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029{DIRECTION_MARKS}]")


def visible(text: str, *, keep: str = "") -> str:
    r"""Each control as its JSON escape, such as \u001b. `keep` holds controls that stay."""
    return _CONTROLS.sub(lambda found: found[0] if found[0] in keep else f"\\u{ord(found[0]):04x}", text)
