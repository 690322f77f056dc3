"""Refunds of payments and inflows by the merchant."""
