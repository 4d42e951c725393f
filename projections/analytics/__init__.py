"""Tables for analytics: matches as Parquet, which any engine reads, and SQL over it (docs/tables.md)."""
