"""From event files to the published mart: sources, the warehouse, derivation, orchestration."""
