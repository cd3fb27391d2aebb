"""The index: what is read of the project once, and kept until it changes."""
