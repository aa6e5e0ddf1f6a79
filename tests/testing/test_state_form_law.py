"""The law for the form of state: coded or plain, compressed or not, the answer is the same.

Records are declared rows, and so is everything in state, so that all of it is coded. The oracle is
a loop over the records; the differential test finds what depends on the form.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.connectors.python.function_sink import DiscardingSink
from penstock.datastream import (
    KeyedProcessFunction,
    ListStateDescriptor,
    MapStateDescriptor,
    StreamExecutionEnvironment,
    ValueStateDescriptor,
)
from penstock.testing import WayMode
from tests.testing.laws import inputs_of, program_of, replayed, require_same, run, sample_of
from tests.testing.strategies import ways_of

ITEM = Types.ROW_NAMED(["key", "word", "size"], [Types.INT(), Types.STRING(), Types.LONG()])
TOTAL = Types.TUPLE([Types.LONG(), Types.BIG_DEC(), Types.MAP(Types.STRING(), Types.LONG())])


class Remember(KeyedProcessFunction):
    """Emits the state of a key: count and sizes of words, the newest per word, all sizes."""

    def open(self, runtime_context):
        self.total = runtime_context.get_state(ValueStateDescriptor("total", TOTAL))
        self.newest = runtime_context.get_map_state(
            MapStateDescriptor("newest", Types.STRING(), ITEM)
        )
        self.items = runtime_context.get_list_state(ListStateDescriptor("items", ITEM))

    def process_element(self, value, ctx):
        count, size, words = self.total.value() or (0, 0, {})
        words = {**words, value.word: words.get(value.word, 0) + 1}
        self.total.update((count + 1, size + value.size, words))
        before = self.newest.get(value.word)
        self.newest.put(value.word, value)
        self.items.add(value)
        if value.size % 5 == 0:
            self.newest.remove(value.word)
        sizes = tuple(item.size for item in self.items.get())
        yield value.key, before and before.size, list(words.items()), str(size), sizes


def _expected(records: list[Any]) -> list[Any]:
    found = []
    of_key: dict[int, list[Any]] = defaultdict(list)
    for key, word, size in records:
        known = of_key[key]
        same = [s for k, w, s in known if w == word]
        before = same[-1] if same and same[-1] % 5 else None
        total = sum(s for _, _, s in known)
        known.append((key, word, size))
        words: dict[str, int] = {}
        for _, each, _ in known:
            words[each] = words.get(each, 0) + 1
        found.append((key, before, list(words.items()), str(total), tuple(s for _, _, s in known)))
    return found


PAIRED = Types.TUPLE([Types.INT(), Types.STRING()])
NAMED = Types.ROW_NAMED(["key", "side"], [Types.LONG(), Types.STRING()])
KEY_OF = {
    Types.INT(): lambda item: item.key,
    PAIRED: lambda item: (item.key, "x"),
    NAMED: lambda item: Row(side="x", key=item.key),
}
"""Types of keys, the same keys by each: some are coded rows, and none may show."""


def _build(key_type):
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([], ITEM).name("items")
    keyed = stream.key_by(KEY_OF[key_type], key_type=key_type)
    keyed.process(Remember()).sink_to(DiscardingSink()).name("known")
    return env


_RECORDS = st.lists(
    st.tuples(
        st.integers(0, 3), st.sampled_from(["b", "a", "ß", ""]), st.integers(-(2**63), 2**40)
    ),
    max_size=30,
)


@pytest.mark.parametrize("mode", WayMode)
@settings(max_examples=40, deadline=None)
@given(
    records=_RECORDS,
    coded=st.booleans(),
    compression=st.sampled_from(["none", "lz4", "zstd"]),
    key_type=st.sampled_from(list(KEY_OF)),
    data=st.data(),
)
def test_the_form_of_state_never_shows(mode, records, coded, compression, key_type, data):
    way = data.draw(ways_of(mode, coded=coded, compression=compression))
    made = program_of(_build(key_type))
    items = sample_of(Row(key=k, word=w, size=s) for k, w, s in records)
    wanted = replayed(made, {"known": _expected(records)})
    require_same(made, wanted, run(made, inputs_of(made, {"items": items}), way))
