"""An address as a code that a phone can scan."""

from __future__ import annotations

from io import BytesIO

import segno

# Modules of white around the code, as its standard asks.
QUIET_ZONE = 4


def qr_svg(address: str) -> bytes:
    """Black on white in either theme: not every phone reads the reverse."""
    drawn = BytesIO()
    code = segno.make(address, error="m", micro=False)
    code.save(
        drawn, kind="svg", light="#fff", border=QUIET_ZONE, omitsize=True, xmldecl=False, svgclass=None, lineclass=None
    )
    return drawn.getvalue()
