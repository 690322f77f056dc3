"""What leaves the database: rows after their time, and a payer's personal data on request."""
