"""Ids of decisions: a token of the learner and a number, as in "k3f9x0q7tm-17".

Every time a learner is opened (made, loaded, copied, forked), it takes another random token before
it decides. So an id that was given out after the last save, and lost in a crash, is never given out
again, and a decision of another learner is recognized. The numbers count all decisions of a learner
from 0; random numbers follow from them and not from the token. Learners of earlier versions gave
out bare numbers, which stay the ids of their decisions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from operator import itemgetter
from os import urandom
from typing import Any

from partial_monitoring.errors import InvalidInput
from partial_monitoring.validation import brief, is_whole

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Digits, and letters that are not mistaken for one; 32 of them."""

LENGTH = 10
"""Letters of a token: among a million of them two are equal with probability 0.0004."""

MOST_TOKENS = 1000
"""Largest number of tokens that are kept: a learner may be opened for every decision."""

DecisionId = str | int

Tokens = tuple[tuple[str | None, int], ...]
"""The latest tokens of ids, each with the number of its first decision; None for bare numbers."""


def new_token() -> str:
    """Return a token that no learner has had; it follows from no seed."""
    return "".join(ALPHABET[byte % len(ALPHABET)] for byte in urandom(LENGTH))


def decision_id(token: str | None, number: int) -> DecisionId:
    """Return the id of a decision."""
    return number if token is None else f"{token}-{number}"


def decision_number(given: DecisionId) -> int:
    """Return the number of a decision from its id."""
    return int(given.rpartition("-")[2]) if isinstance(given, str) else given


def id_of(tokens: Tokens, names: Iterable[DecisionId], number: int) -> DecisionId:
    """Return the id of a decision from its number; if its token is not kept, from given ids."""
    place = bisect_right(tokens, number, key=itemgetter(1)) - 1
    if place < 0:
        return next((name for name in names if decision_number(name) == number), number)
    return decision_id(tokens[place][0], number)


def token_of(given: Any, number: int) -> str | None:
    """Return the token of the id of the decision with a number, or refuse another id."""
    if type(given) is int and given == number:
        return None
    if isinstance(given, str):
        token, _, rest = given.rpartition("-")
        if rest == str(number) and token.isascii() and token.isalnum():
            return token
    raise InvalidInput(f"event must ask for decision {number}; got {brief(given)}.")


def with_token(tokens: Tokens, given: DecisionId, number: int) -> Tokens:
    """Return the tokens after one more decision, given by its id and its number."""
    token = given.rpartition("-")[0] if isinstance(given, str) else None
    if tokens and tokens[-1][0] == token:
        return tokens
    return (*tokens, (token, number))[-MOST_TOKENS:]


def is_earlier(tokens: Tokens, given: Any) -> bool:
    """Whether an open decision is older than all tokens that are kept."""
    return bool(tokens) and decision_number(given) < tokens[0][1]


def was_given_out(tokens: Tokens, asked: int, given: Any) -> bool:
    """Whether something is the id of one of the decisions that were asked for."""
    token: str | None = None
    if isinstance(given, str):
        token, _, digits = given.rpartition("-")
        number = int(digits) if digits.isdecimal() and len(digits) < 20 else -1
        if decision_id(token, number) != given:
            return False
    elif is_whole(given):
        number = int(given)
    else:
        return False
    following = (*tokens[1:], (None, asked))
    return any(
        own == token and first <= number < end
        for (own, first), (_, end) in zip(tokens, following, strict=False)
    )
