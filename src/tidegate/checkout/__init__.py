"""The payer's door: what the hosted page does, as JSON. Keyed by the pay code alone."""
