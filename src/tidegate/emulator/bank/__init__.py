"""A bank that keeps accounts: takes transfers, writes camt and MT files, reads pain.001 and answers with pain.002."""
