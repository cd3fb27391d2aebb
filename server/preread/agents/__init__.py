"""Agents: headless children with a policy, each in a worktree of its own."""
