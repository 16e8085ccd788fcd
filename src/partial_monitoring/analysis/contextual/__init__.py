"""The analysis of games with contexts: as a whole, and in each context."""
