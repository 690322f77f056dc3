"""The page of a payment link: an amount, who pays, and on to the checkout."""
