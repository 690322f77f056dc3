"""A PostgreSQL server of our own, for sandboxes and tests. Needs nothing but the standard library."""

from tidegate.infra.embedded.account import EmbeddedPostgresFailed
from tidegate.infra.embedded.server import EmbeddedPostgres

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresFailed"]
