"""The sandbox on one's own machine: one seeded business, ready to be called."""
