"""Returns of received money to the payer: requested, sent to the rail, confirmed by it."""
