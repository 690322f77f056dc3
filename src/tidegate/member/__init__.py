"""People who sign in: their factors, sessions, memberships and invitations, and what a role may do."""
