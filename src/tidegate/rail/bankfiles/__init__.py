"""The rail of a bank's files: camt and MT statements in, pain.001 out, pain.002 back."""
