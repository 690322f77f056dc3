"""What the payer reads: a catalog of texts for each language, and how it writes amounts and times."""
