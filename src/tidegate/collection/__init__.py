"""Inflows: transfers to virtual accounts, checked, credited, held or returned, and listed."""
