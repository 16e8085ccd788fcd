"""What is known when signals are counted: the likelihood itself, not a least-squares estimate."""
