"""The operations on documents: papers, specifications and other files that are not code."""
