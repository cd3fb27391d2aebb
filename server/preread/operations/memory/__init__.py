"""The operations on what people and agents told the project."""
