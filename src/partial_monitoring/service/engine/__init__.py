"""All studies of a database: their requests wait here, share commits, and are answered."""
