"""The hosted page: what a payer sees."""
