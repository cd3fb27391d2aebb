"""The operations on builds that run."""
