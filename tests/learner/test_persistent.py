"""A mapping that never changes is, step by step, what a dictionary would be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from partial_monitoring.learner.persistent import PersistentMap


@given(st.lists(st.tuples(st.integers(0, 600), st.integers()), max_size=60))
def test_it_is_a_dictionary_at_every_step(steps: list[tuple[int, int]]) -> None:
    own: PersistentMap[int, int] = PersistentMap()
    plain: dict[int, int] = {}
    for key, value in steps:
        before, was = own, dict(plain)
        if key in plain:
            own = own.without(key)
            del plain[key]
        else:
            own, plain = own.with_item(key, value), {**plain, key: value}
        assert dict(before.items()) == was
        assert (dict(own.items()), len(own)) == (plain, len(plain))
        assert sorted(own.all()) == sorted(plain.values())
        assert bool(own) == bool(plain)
        assert own.get(key, "none") == plain.get(key, "none")
    assert dict(PersistentMap.of(plain.items()).items()) == plain
