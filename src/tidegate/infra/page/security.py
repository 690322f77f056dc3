"""The headers that every page carries, whatever it says."""

from __future__ import annotations

import secrets
from functools import lru_cache

import msgspec

from tidegate.infra.http.operation import RawHeaders
from tidegate.infra.http.whole import NO_BLOCK, Steady, lines_of
from tidegate.infra.page.cookie import NOTHING_SET, CookieLines

NONCE_BYTES = 16
# Through the policy of this name alone may a script turn text into HTML.
TRUSTED_TYPES_POLICY = "tidegate"
_REPORT_GROUP = "csp"
# In no header: none may have it.
_NONCE_PLACE = "\x00"
_KINDS_REMEMBERED_MAX = 10

_CSP = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; object-src 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types {policy}; "
    # Browsers that know the first ignore the second.
    "report-to {group}; report-uri {reports}"
)

# The names that browsers know today; one that they do not know makes them complain in every visitor's console.
_FEATURES_OFF = (
    "accelerometer", "autoplay", "browsing-topics", "camera", "captured-surface-control", "clipboard-read",
    "compute-pressure", "cross-origin-isolated", "display-capture", "encrypted-media", "fullscreen", "gamepad",
    "geolocation", "gyroscope", "hid", "identity-credentials-get", "idle-detection", "keyboard-map", "local-fonts",
    "magnetometer", "microphone", "midi", "otp-credentials", "picture-in-picture", "publickey-credentials-create",
    "publickey-credentials-get", "screen-wake-lock", "serial", "speaker-selection", "storage-access", "sync-xhr",
    "usb", "window-management", "xr-spatial-tracking",
)  # fmt: skip
_FEATURES_OWN = ("clipboard-write", "payment")
_PERMISSIONS = ", ".join(
    [*(f"{feature}=()" for feature in _FEATURES_OFF), *(f"{feature}=(self)" for feature in _FEATURES_OWN)]
)


def new_nonce() -> str:
    return secrets.token_urlsafe(NONCE_BYTES)


class PageHeaders(msgspec.Struct, frozen=True):
    """Those of one kind of answer, those of every page, and cookies; the front door has more for all. A block."""

    nonce: str
    reports_to: str
    kind: Steady = NO_BLOCK
    cookies: CookieLines = NOTHING_SET

    @property
    def lines(self) -> bytes:
        return self.nonce.encode("ascii").join(_around_nonces(self.kind, self.reports_to)) + self.cookies

    @property
    def headers(self) -> RawHeaders:
        parts = (line.partition(b": ") for line in self.lines.splitlines())
        return [(name, value) for name, _, value in parts]


@lru_cache(maxsize=_KINDS_REMEMBERED_MAX)
def _around_nonces(kind: Steady, reports_to: str) -> list[bytes]:
    csp = _CSP.format(nonce=_NONCE_PLACE, policy=TRUSTED_TYPES_POLICY, group=_REPORT_GROUP, reports=reports_to)
    guarding = [
        (b"content-security-policy", csp.encode("ascii")),
        (b"reporting-endpoints", f'{_REPORT_GROUP}="{reports_to}"'.encode("ascii")),
        *_ALWAYS,
    ]
    return (kind.lines + lines_of(guarding)).split(_NONCE_PLACE.encode("ascii"))


_ALWAYS = [
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", _PERMISSIONS.encode("ascii")),
]
