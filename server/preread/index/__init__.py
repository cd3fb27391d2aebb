"""The index: what is read from the project once and cached until it changes."""
