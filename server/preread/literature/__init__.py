"""What documents speak of: entities, relations, the graph of both, its measures and exports."""
