"""Memory: decisions, lessons and notes of people and agents, as facts in knowledge.md."""
