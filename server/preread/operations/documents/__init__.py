"""The operations on documents: papers, specifications and what else is not source code."""
