"""The operations on what people and agents asked the project to remember."""
