"""Wallets as their merchant sees them: balances, and statements with a running balance."""
