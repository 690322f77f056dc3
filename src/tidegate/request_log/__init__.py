"""What merchants' programs asked of the API and how it was answered, for their developers."""
