"""The audit trail: actor, action, subject and time. Never deleted."""
