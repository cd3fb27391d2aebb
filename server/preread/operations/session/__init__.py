"""Operations on sessions: who works in the project, on what, and what they tell each other."""
