"""Evidence: what the project itself says about a feature, without a model."""
