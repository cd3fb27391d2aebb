"""The gates' own library: standard library alone, Python 3.8 or newer, and as few imports as start-up can bear."""
