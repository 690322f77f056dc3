"""The sandbox on a developer's machine: one seeded business, ready to use."""
