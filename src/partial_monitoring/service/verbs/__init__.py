"""What callers may do with a study: a function for each verb, from plain data to plain data."""
