"""What merchants are told: endpoints, signatures, the delivery of events and its log. Knows no payments."""
