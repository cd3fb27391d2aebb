"""Signals: each says which of the asked files a request may be about, and how strongly."""
