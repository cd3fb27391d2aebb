"""The user's project: its files, ignore rules and packages."""
