"""The gates, and what they share with the package. Only the standard library, Python 3.8 or newer.

A hook starts a Python for each call it has to decide, so a module here imports as little as it can,
and imports inside a function what only some calls need.
"""
