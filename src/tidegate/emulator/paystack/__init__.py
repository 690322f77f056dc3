"""Paystack, as far as Tidegate uses it: its API, its page, its notifications."""
