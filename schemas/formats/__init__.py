"""Documents of other tools, and of versions before this one."""
