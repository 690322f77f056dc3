"""What lets money out or widens rights: proposed by one of the staff or the command line, approved by another."""
