"""Worktrees below `.worktrees/`: created, listed, compared, merged, removed, repaired.

Git does the work. A record beside it, written before git is asked for anything, says what each
worktree is for and what is under way in it, so that whatever a kill interrupted can be finished.
"""
