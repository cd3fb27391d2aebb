"""Signals: each scores the files that a request may be about."""
