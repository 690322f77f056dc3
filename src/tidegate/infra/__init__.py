"""The outside world: database, HTTP, logs. No business words live here."""
