"""The MLflow mirror of the records on disk."""
