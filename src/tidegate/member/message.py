"""Mails to the people of the dashboard. The words do not depend on whether the address is known."""

from __future__ import annotations

from datetime import datetime

from tidegate.mail.model import Mail, one_line
from tidegate.member.permission import Role


def invitation(email: str, *, business: str, inviter: str, role: Role, url: str) -> Mail:
    return Mail(
        recipient=email,
        subject=one_line(f"{inviter} invites you to {business} on Tidegate"),
        paragraphs=(
            f"{one_line(inviter)} invites you to the dashboard of {one_line(business)} as {role.value}.",
            "The link works once, for this address only, for three days.",
        ),
        link=("Accept the invitation", url),
        closing="If you do not know why you got this, ignore it.",
    )


def reset(email: str, *, url: str) -> Mail:
    return Mail(
        recipient=email,
        subject="Choose a new password for Tidegate",
        paragraphs=("A new password was asked for, for this address. The link works once, for 30 minutes.",),
        link=("Choose a new password", url),
        closing="If it was not you, ignore this; your password stays as it is.",
    )


def changed(email: str, *, what: str) -> Mail:
    """Sent after the fact, so that an owner notices a stranger."""
    return Mail(
        recipient=email,
        subject=one_line(f"Tidegate: {what}"),
        paragraphs=(f"On your Tidegate account: {what}.",),
        closing="If it was not you, choose a new password at once and tell the owner of your business.",
    )


def factors_end(email: str, *, at: datetime) -> Mail:
    """Sent at once, a day before."""
    return Mail(
        recipient=email,
        subject="Tidegate: your second factors will be removed",
        paragraphs=(
            f"Tidegate was asked to remove your passkeys, the codes of your app and your recovery codes. It does so on "
            f"{at:%d %B %Y at %H:%M} UTC.",
            "From then on you sign in with your password, and set up a second factor again.",
        ),
        closing="If you did not ask for this, sign in with one of them before: they stay then. And tell Tidegate.",
    )


def factors_kept(email: str) -> Mail:
    return Mail(
        recipient=email,
        subject="Tidegate: your second factors stay",
        paragraphs=("One of your second factors was used, so none of them is removed.",),
        closing="If it was not you, choose a new password at once and tell Tidegate.",
    )


def factors_reset(email: str, *, by: str) -> Mail:
    return Mail(
        recipient=email,
        subject="Tidegate: your second factors were reset",
        paragraphs=(
            f"{one_line(by)} has removed your passkeys, the codes of your app and your recovery codes.",
            "Your sessions have ended. Your password is unchanged: sign in with it and set up a second factor again.",
        ),
        closing="If you did not ask for this, choose a new password at once and tell the owner of your business.",
    )
