"""Paystack: cards by its own page; bank transfers, USSD and mobile money by its Charge API."""

from tidegate.rail.paystack.rail import PaystackRail

__all__ = ["PaystackRail"]
