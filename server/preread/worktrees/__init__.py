"""Worktrees below `.worktrees/`: created, listed, compared, merged, removed, repaired.

Git does the work. Before git runs, a record is written that says what a worktree is for and what is
under way in it, so that an operation that was killed can be finished or undone.
"""
