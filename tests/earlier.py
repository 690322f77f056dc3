"""Rows made older, for what happens after a time."""

from __future__ import annotations


def earlier(column: str, length: str) -> str:
    """For `SET`. In an UPDATE, Citus takes no sum that depends on the time zone of the session."""
    return f"{column} = ({column} AT TIME ZONE 'UTC' - interval '{length}') AT TIME ZONE 'UTC'"
