"""Webhooks: endpoints, signatures, the delivery of events and its log. Independent of payments."""
