"""Learners for everybody who can reach an address: HTTP, tokens, a page, metrics.

Nothing here is imported unless it is served; it needs the extra ``serve``.
"""
