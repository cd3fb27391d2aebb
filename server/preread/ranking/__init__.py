"""Ranking: which files a request is about."""
