"""Virtual accounts: where merchants receive USD and EUR by bank transfer. They hold nothing."""
