"""Infrastructure: database, HTTP, logs. No business concepts."""
