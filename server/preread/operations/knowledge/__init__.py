"""Operations on the knowledge graph: facts, and all that they are about."""
