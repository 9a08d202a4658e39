"""The window that watches the core."""
