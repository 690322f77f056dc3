"""Inflows: what arrives on virtual accounts, checked, credited, held or sent back, and listed."""
