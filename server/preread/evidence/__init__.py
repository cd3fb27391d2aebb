"""Evidence: what the project itself says about a feature, without a model."""

from preread.evidence.collect import collect, failing

__all__ = ["collect", "failing"]
