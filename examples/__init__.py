"""Programs that use the library."""
