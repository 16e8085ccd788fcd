"""Policies for games with contexts whose feedback is finite."""
