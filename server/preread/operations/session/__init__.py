"""Operations on sessions: who works in the project, on what, and the messages between them."""
