"""Audit of the books."""
