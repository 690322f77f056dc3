"""The headers that every page carries, whatever it says."""

from __future__ import annotations

import secrets
from functools import lru_cache

from tidegate.infra.http.operation import RawHeaders

NONCE_BYTES = 16
# Through the policy of this name alone may a script turn text into HTML.
TRUSTED_TYPES_POLICY = "tidegate"
_REPORT_GROUP = "csp"

_CSP = (
    "default-src 'none'; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; object-src 'none'; frame-src {frames}; "
    "frame-ancestors {framed_by}; require-trusted-types-for 'script'; trusted-types {policy}; "
    # Browsers that know the first ignore the second.
    "report-to {group}; report-uri {reports}"
)

# The names that browsers know today; one that they do not know makes them complain in every visitor's console.
_FEATURES_OFF = (
    "accelerometer", "autoplay", "browsing-topics", "camera", "captured-surface-control", "clipboard-read",
    "compute-pressure", "cross-origin-isolated", "display-capture", "encrypted-media", "fullscreen", "gamepad",
    "geolocation", "gyroscope", "hid", "identity-credentials-get", "idle-detection", "keyboard-map", "local-fonts",
    "magnetometer", "microphone", "midi", "otp-credentials", "picture-in-picture", "screen-wake-lock", "serial",
    "speaker-selection", "storage-access", "sync-xhr", "usb", "window-management", "xr-spatial-tracking",
)  # fmt: skip
_PASSKEYS = ("publickey-credentials-create", "publickey-credentials-get")
_FEATURES_OWN = ("clipboard-write", "payment")


def _permissions(off: tuple[str, ...], own: tuple[str, ...]) -> bytes:
    return ", ".join([*(f"{name}=()" for name in off), *(f"{name}=(self)" for name in own)]).encode("ascii")


_WITHOUT_PASSKEYS = (b"permissions-policy", _permissions((*_FEATURES_OFF, *_PASSKEYS), _FEATURES_OWN))
_WITH_PASSKEYS = (b"permissions-policy", _permissions(_FEATURES_OFF, (*_FEATURES_OWN, *_PASSKEYS)))


def new_nonce() -> str:
    return secrets.token_urlsafe(NONCE_BYTES)


def page_headers(
    nonce: str, reports_to: str, framed_by: str | None = None, *, uses_passkeys: bool = False,
    frames_own_pages: bool = False,
) -> RawHeaders:  # fmt: skip
    return [
        (b"content-security-policy", nonce.encode("ascii").join(_csp_around(reports_to, framed_by, frames_own_pages))),
        (b"reporting-endpoints", f'{_REPORT_GROUP}="{reports_to}"'.encode("ascii")),
        *_ALWAYS,
        _WITH_PASSKEYS if uses_passkeys else _WITHOUT_PASSKEYS,
        # Knows no origins; an exception to it is said by the policy alone.
        *([] if framed_by else [(b"x-frame-options", b"DENY")]),
    ]


# Of a service they are few: its own pages, and the sites that may show one in a frame.
@lru_cache(maxsize=256)
def _csp_around(reports_to: str, framed_by: str | None, frames_own_pages: bool) -> list[bytes]:
    """What stands before, between and behind the nonces."""
    csp = _CSP.format(
        nonce="\0",
        policy=TRUSTED_TYPES_POLICY,
        group=_REPORT_GROUP,
        reports=reports_to,
        framed_by=framed_by or "'none'",
        frames="'self'" if frames_own_pages else "'none'",
    )
    return csp.encode("ascii").split(b"\0")


_ALWAYS = [
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
