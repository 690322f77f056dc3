"""Journals that cannot be built unbalanced, kept for ever. Knows no payments."""
