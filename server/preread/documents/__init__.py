"""Documents: text by pages and sections, metadata, tables, references."""
