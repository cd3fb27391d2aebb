"""Agents that work in worktrees, where they can do no harm."""
