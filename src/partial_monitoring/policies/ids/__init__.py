"""Information-directed sampling: gaps, information, sampling rules, and what is made of them."""
