"""The people who run a deployment: who they are, and what each may do in the console."""
