"""What rails tell us: verified, recorded once, routed. Nothing received is ever unrecorded."""
