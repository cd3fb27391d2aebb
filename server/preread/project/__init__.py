"""The user's project: its files, git, ignore rules and packages."""
