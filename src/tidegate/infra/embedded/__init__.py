"""An embedded PostgreSQL server for sandboxes and tests. Needs only the standard library."""

from tidegate.infra.embedded.account import EmbeddedPostgresFailed
from tidegate.infra.embedded.server import EmbeddedPostgres

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresFailed"]
