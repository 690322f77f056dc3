"""The service's own pages: its front page, and errors for browsers."""
