"""Payments that a payer disputes with the bank: recorded, told, and their money held until the bank has decided."""
