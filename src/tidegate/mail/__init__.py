"""Messages to people: an outbox row in the transaction of what it tells of, sent by the worker."""
