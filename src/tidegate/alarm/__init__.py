"""What must be looked at now: raised once, shown, mailed, posted to the operator's webhook, ended by itself."""
