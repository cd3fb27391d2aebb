"""Worktrees below `.worktrees/`: created, listed, compared, merged, removed, repaired.

Git does the work. Before each git command a record is written, which says what a worktree is for
and what is under way in it, so that an operation that was killed can be finished or undone.
"""
