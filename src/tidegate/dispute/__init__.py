"""Payments that a payer disputes with the bank: recorded, notified, and their money held until the bank has decided."""
