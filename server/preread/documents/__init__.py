"""Documents: their text by pages and sections, what is known about them, tables, references."""
