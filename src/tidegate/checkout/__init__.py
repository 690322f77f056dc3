"""The payer's API: what the hosted page does, as JSON. Authorised by the pay code alone."""
