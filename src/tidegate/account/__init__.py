"""Virtual accounts: merchants receive USD and EUR there by bank transfer. They hold no money."""
