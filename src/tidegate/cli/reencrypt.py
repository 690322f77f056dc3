"""`tidegate reencrypt`: stored secrets under the current encryption key."""

from __future__ import annotations

import click

from tidegate.cli.console import as_json_option, fail, out, plain, print_json, reports_errors
from tidegate.cli.database import known_encryption_keys, run_on_database
from tidegate.cli.merchant_webhooks import running_settings
from tidegate.doctor.reencrypt import Reencrypted
from tidegate.doctor.reencrypt import reencrypt as renew
from tidegate.infra.vault import Vault

UNREADABLE_SHOWN_MAX = 10


@click.command()
@as_json_option
@reports_errors
def reencrypt(as_json: bool) -> None:
    """Encrypt every stored secret with the first key of TIDEGATE_ENCRYPTION_KEY.

    Run it after you put the new key before the old one and restarted all services. It may be repeated, and runs beside
    the services. Exits with 1 when a secret cannot be opened with any of the keys.
    """
    settings = running_settings()
    keys = known_encryption_keys(settings)
    if not keys:
        fail("TIDEGATE_ENCRYPTION_KEY is not set; set it to the new key, a space, and the old key.")
    vault = Vault(keys)
    done = run_on_database(settings, lambda db: renew(db, vault))
    if as_json:
        print_json([vars(one) for one in done])
    else:
        for one in done:
            _show(one)
        if not any(one.unreadable for one in done):
            out.print("The keys after the first are not needed any more: remove them and restart the services.")
    if any(one.unreadable for one in done):
        raise SystemExit(1)


def _show(one: Reencrypted) -> None:
    mark = "[bold red]✗[/]" if one.unreadable else "[green]✓[/]"
    out.print(f"{mark} [bold]{one.subject:<26}[/] {one.renewed} encrypted anew, {one.current} had the current key")
    for label in one.unreadable[:UNREADABLE_SHOWN_MAX]:
        out.print(f"  [yellow]→[/] {plain(label)}", soft_wrap=True)
    if len(one.unreadable) > UNREADABLE_SHOWN_MAX:
        out.print(f"  [yellow]→[/] and {len(one.unreadable) - UNREADABLE_SHOWN_MAX} more")
