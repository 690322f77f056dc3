"""`tidegate verify-signature`: whether a signature is valid and, if not, why."""

from __future__ import annotations

from typing import Any, BinaryIO

import click

from tidegate import settings as settings_module
from tidegate.cli.console import as_json_option, fail, out, plain, print_json, reports_errors
from tidegate.cli.merchant_webhooks import seeded
from tidegate.core.clock import SystemClock
from tidegate.webhook.explain import Explanation, SignatureCheck, explain
from tidegate.webhook.restore import Difference

BODY_BYTES_MAX = 10 * 1024 * 1024


@click.command(name="verify-signature")
@click.option(
    "--secret",
    "secrets",
    multiple=True,
    envvar="WEBHOOK_SECRET",
    help="whsec_…; repeat for several. By default WEBHOOK_SECRET, or the sandbox's own.",
)
@click.option(
    "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="A header as received; repeat for each."
)
@click.option(
    "--body",
    type=click.File("rb"),
    default="-",
    metavar="FILE",
    help="The raw body, byte for byte; standard input by default.",
)
@as_json_option
@reports_errors
def verify_signature(secrets: tuple[str, ...], headers: tuple[str, ...], body: BinaryIO, as_json: bool) -> None:
    """Verify the signature of a webhook, and explain what is wrong. Exits with 1 unless it is valid.

    Checks webhook-id, webhook-timestamp and webhook-signature, or signature, or both.
    """
    given = dict(_header_in(text) for text in headers)
    raw = body.read(BODY_BYTES_MAX + 1)
    if len(raw) > BODY_BYTES_MAX:
        fail(f"The body has more than {BODY_BYTES_MAX:,} bytes, the limit of Tidegate's webhooks.")
    known = secrets or tuple(filter(None, [seeded(settings_module.from_environment()).get("webhookSecret")]))
    found = explain(given, raw, known, now=SystemClock().now())
    if as_json:
        print_json(_to_json(found))
    else:
        for check in found.checks:
            show_check(check)
        if found.difference is not None:
            _show_difference(found.difference)
    if not found.is_well:
        raise SystemExit(1)


def show_check(check: SignatureCheck) -> None:
    mark = "[green]✓[/]" if check.is_well else "[bold red]✗[/]"
    out.print(f"{mark} [bold]{check.subject:<17}[/] {plain(check.what)}", soft_wrap=True)
    if check.advice:
        out.print(f"  {'':<17} [yellow]→ {plain(check.advice)}[/]", soft_wrap=True)


def _header_in(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        fail(f"--header {text!r} must be a name, a colon and a value, such as 'webhook-id: evt_…'.")
    return name, value


def _show_difference(difference: Difference) -> None:
    out.print(f"\nThe first difference is at byte {difference.offset:,}:")
    place = difference.offset - difference.begins_at
    for name, part in (("as sent", difference.sent), ("as given", difference.given)):
        out.print(f"  [dim]{name:<9}[/] {_hex_of(part, place)}  {_text_of(part)}", soft_wrap=True)


def _hex_of(part: bytes, place: int) -> str:
    """With the byte at `place` marked; past the end there is none."""
    pairs = [f"{byte:02x}" for byte in part]
    if place < len(pairs):
        pairs[place] = f"[bold red]{pairs[place]}[/]"
    else:
        pairs.append("[bold red]··[/]")
    return " ".join(pairs)


def _text_of(part: bytes) -> str:
    """As ASCII, so that the two lines align byte by byte."""
    return plain("".join(chr(byte) if 0x20 <= byte <= 0x7E else "·" for byte in part))


def _to_json(found: Explanation) -> dict[str, Any]:
    difference = found.difference
    return {
        "ok": found.is_well,
        "checks": [
            {"subject": check.subject, "ok": check.is_well, "what": check.what, "advice": check.advice or None}
            for check in found.checks
        ],
        "difference": difference
        and {
            "offset": difference.offset,
            "contextFrom": difference.begins_at,
            "sentHex": difference.sent.hex(),
            "givenHex": difference.given.hex(),
        },
    }
