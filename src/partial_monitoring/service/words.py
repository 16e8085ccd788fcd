"""What the library says to those who program with it, in words of the service."""

from __future__ import annotations

import re

SPOKEN = (
    (
        "half_life= of the policy forgets gradually, learner.reset() at once",
        "edit the study to a policy with a half_life to forget gradually, or reset it to forget "
        "at once",
    ),
    ("as much as noise_std says", "as much as the noise_std of the game says"),
    ("pm.advise(game) says what to measure", "the advice of the study says what to measure"),
    (
        "probes make it possible, as with pm.Learner(..., probe=0.02)",
        "probes make it possible, in a study that is created with a probe of 0.02",
    ),
    (
        "pass allow_hopeless=True to play it anyway",
        "create it with allow_hopeless set to true to play it anyway",
    ),
)
"""Phrases of the library, and what the service says instead."""

NAMED = re.compile(r" \(pm\.[\w.]+\)")
PREFIX = re.compile(r"\bpm\.(?=[A-Za-z_])")
"""What only a program needs: the names of classes and modules."""


def in_words(text: str) -> str:
    """Return a sentence of the library for those who use the service.

    >>> in_words("IDS plays finite games (pm.FiniteGame); got 3.")
    'IDS plays finite games; got 3.'
    """
    for phrase, spoken in SPOKEN:
        text = text.replace(phrase, spoken)
    if "pm." in text:
        text = PREFIX.sub("", NAMED.sub("", text))
    return text
