"""Attacks: whatever arrives, the library refuses it in one sentence or answers rightly."""
