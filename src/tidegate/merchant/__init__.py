"""Businesses, their keys and settings, and who is calling."""
