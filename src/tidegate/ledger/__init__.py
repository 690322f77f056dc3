"""Journals that cannot be built unbalanced and are never deleted. Knows no payments."""
