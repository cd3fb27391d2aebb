"""A request from look-up to publication: one build per feature, shared by its callers."""
