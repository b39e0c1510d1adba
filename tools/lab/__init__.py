"""Real peers on loopback, for the end-to-end tests and the demo."""
