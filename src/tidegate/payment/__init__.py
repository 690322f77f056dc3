"""Checkout payments: create and verify."""
