"""Rows of the lake's tables, and how lines of logs become them; loads pyarrow."""
