"""The commands beyond ingesting and the ledger, a module a subject, and how they print."""
