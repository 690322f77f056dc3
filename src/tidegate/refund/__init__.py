"""Refunds: money of a payment or of an inflow that its merchant gives back."""
