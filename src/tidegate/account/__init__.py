"""Virtual accounts: merchants receive foreign currencies there by bank transfer. They hold no money."""
