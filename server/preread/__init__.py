"""Makes a coding agent read before it writes."""

__version__ = "0.1.0"
