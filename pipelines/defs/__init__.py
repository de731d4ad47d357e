"""Dagster's view of the pipeline: thin assets around ingestion, derivation and publication."""
