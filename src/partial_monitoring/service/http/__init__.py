"""The interface over HTTP: routes, bodies, tokens, limits, metrics, and its description."""
