"""Worktrees, in which work does no harm until it is merged."""
