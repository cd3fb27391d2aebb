"""What the hooks and the package share; standard library only."""
