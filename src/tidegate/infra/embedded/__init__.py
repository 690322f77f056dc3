"""An embedded PostgreSQL server for sandboxes and tests. Needs only the standard library."""

from tidegate.infra.embedded.os_account import EmbeddedPostgresFailed
from tidegate.infra.embedded.server import EmbeddedPostgres

__all__ = ["EmbeddedPostgres", "EmbeddedPostgresFailed"]
