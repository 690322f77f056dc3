"""What an auditor asks the books."""
