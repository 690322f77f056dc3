"""pawaPay, as far as Tidegate uses it: its API, the payers' phones, its callbacks."""
