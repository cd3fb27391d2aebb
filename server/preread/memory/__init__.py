"""Decisions, lessons and notes of people and agents, kept as facts in knowledge.md."""
