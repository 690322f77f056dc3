"""Tidegate: hosted checkout and foreign-currency inflows that anyone can run."""

__version__ = "0.1.0"
