"""The default policy: low regret on every kind of game, without tuning and without a theorem."""
