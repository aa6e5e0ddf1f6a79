"""Messages for `examples/coded_join_seed.sql`, its script with other tables, and its answer by brute force."""

from __future__ import annotations

import base64
import datetime as dt
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from penstock.common import RowKind
from tests.kafka_broker import HOUR_AGO_MS, Broker

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
SCRIPT = (EXAMPLES / "coded_join_seed.sql").read_text()
ORDER_FIELDS = [*"abcdevafghijklmnopqrs", "join_id"]
REFUND_FIELDS = [*"abcdefghijkl", "m", "n", "join_id"]
OF_ROW_BEFORE = {"m", "n"}
TOPICS = ("refund_order", "refund_money")
_TABLE = re.compile(
    r"CREATE TABLE `source_(?P<topic>\w+)` \((?P<columns>.*?)\) WITH \((?P<options>.*?)\);",
    re.DOTALL,
)


class Message(NamedTuple):
    """A message of a topic, as a binlog reader writes it."""

    offset: int
    value: dict[str, Any]

    @property
    def text(self) -> bytes:
        """Its bytes."""
        return json.dumps(self.value).encode()

    @property
    def milliseconds(self) -> int:
        """When it was written."""
        return HOUR_AGO_MS + 1_000 * self.offset

    @property
    def moment(self) -> dt.datetime:
        """When it was written, as a column has it."""
        return dt.datetime.fromtimestamp(self.milliseconds / 1_000, dt.UTC)

    def field(self, name: str, of: str = "data") -> str | None:
        """Return what the script reads of a field."""
        found = (self.value[of] or {}).get(name)
        return found if found is None or isinstance(found, str) else json.dumps(found)


def messages(topic: str, count: int = 60) -> list[Message]:
    """Return the messages of a topic: deletions, flags and keys that are missing, values that are no texts."""
    chance = random.Random(topic)  # noqa: S311 - data of a test
    keys = 9 if topic == TOPICS[0] else 7
    return [Message(offset, _value(chance, keys)) for offset in range(count)]


def _value(chance: random.Random, keys: int) -> dict[str, Any]:
    def row() -> dict[str, Any]:
        values = ["", "x y", "Zürich", None, 7, -1.5, True, [1, "a"]]
        return {name: chance.choice(values) for name in "abcdefghijklmnopqrsv"}

    key = chance.choice([None, *(f"order {n}" for n in range(keys))])
    return {
        "operation": chance.choice(["I", "I", "U", "U", "D", None]),
        "database": "shop",
        "table": "t",
        "data": row() | ({} if key is None else {"join_id": key}),
        "old_data": chance.choice([None, row()]),
    }


def answer(orders: Iterable[Message], refunds: Sequence[Message]) -> Counter[tuple[Any, ...]]:
    """Return the rows of the join: every pair is looked at."""
    rows: Counter[tuple[Any, ...]] = Counter()
    kept = [each for each in refunds if each.value["operation"] not in {None, "D"}]
    for order in (each for each in orders if each.value["operation"] not in {None, "D"}):
        left = (*map(order.field, ORDER_FIELDS), order.offset)
        key = order.field("join_id")
        found = [each for each in kept if key is not None and each.field("join_id") == key]
        for refund in found:
            rows[left + _refund(refund)] += 1
        if not found:
            rows[left + (None,) * (len(REFUND_FIELDS) + 2)] += 1
    return rows


def _refund(message: Message) -> tuple[Any, ...]:
    fields = [
        message.field(name, "old_data" if name in OF_ROW_BEFORE else "data")
        for name in REFUND_FIELDS
    ]
    return (*fields, message.moment, message.offset)


def left(rows: Iterable[Any]) -> Counter[tuple[Any, ...]]:
    """Return the rows that changes leave."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        added = row.get_row_kind() in {RowKind.INSERT, RowKind.UPDATE_AFTER}
        found[tuple(row)] += 1 if added else -1
    assert all(n >= 0 for n in found.values())
    return +found


def of_topics(kafka: Broker, topics: dict[str, str], *, bounded: bool = True) -> str:
    """Return the script with topics of a broker."""
    script = SCRIPT.replace("localhost:9092", kafka.servers)
    for name, topic in topics.items():
        script = script.replace(f"'topic' = '{name}'", f"'topic' = '{topic}'")
    if bounded:
        begin = "'scan.startup.mode' = 'earliest-offset'"
        script = script.replace(begin, f"{begin}, 'scan.bounded.mode' = 'latest-offset'")
    return script


def of_files(root: Path, options: str = "") -> str:
    """Return the script with tables of files: columns of messages and of metadata are columns of JSON."""

    def table(found: re.Match[str]) -> str:
        columns = re.sub(r" METADATA( FROM 'timestamp')? VIRTUAL", "", found["columns"])
        return (
            f"CREATE TABLE `source_{found['topic']}` ({columns}) WITH ('connector' = 'filesystem', "
            f"'path' = '{root / found['topic']}', 'format' = 'json'{options});"
        )

    script, tables = _TABLE.subn(table, SCRIPT)
    assert tables == len(TOPICS)
    return script


def put_file(root: Path, topic: str, number: int, part: Iterable[Message]) -> None:
    """Write messages as lines that the tables of files read."""
    directory = root / topic
    directory.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps(
            {
                "messageKey": base64.b64encode(b"k").decode(),
                "message": base64.b64encode(each.text).decode(),
                "o": each.moment.isoformat().replace("+00:00", "Z"),
                "topic": topic,
                "partition": 0,
                "offset": each.offset,
            }
        )
        for each in part
    ]
    hidden = directory / f".{number:05}.json"
    hidden.write_text("".join(f"{line}\n" for line in lines))
    hidden.rename(directory / f"{number:05}.json")


def put_topic(kafka: Broker, topic: str, part: Iterable[Message]) -> None:
    """Add messages to a topic that is empty."""
    kafka.add(topic, *(each.text for each in part), key=b"k")


def into_files(script: str, out: Path) -> str:
    """Return the script with a sink that can be read: changes as lines of JSON."""
    sink = "'connector' = 'blackhole'"
    assert script.count(sink) == 1
    return script.replace(
        sink, f"'connector' = 'filesystem', 'path' = '{out}', 'format' = 'debezium-json'"
    )


def written(out: Path) -> Counter[tuple[Any, ...]]:
    """Return the rows that the changes of a directory leave."""
    found: Counter[tuple[Any, ...]] = Counter()
    files = [each for each in out.glob("*") if each.name[0] not in "._"]
    for line in (line for each in files for line in each.read_text().splitlines()):
        change = json.loads(line)
        for side, sign in (("before", -1), ("after", 1)):
            if change.get(side) is not None:
                found[_row(change[side])] += sign
    return Counter({row: n for row, n in found.items() if n})


def _row(columns: dict[str, Any]) -> tuple[Any, ...]:
    *fields, moment, offset = columns.values()
    if moment is not None:
        moment = dt.datetime.fromisoformat(moment.replace(" ", "T"))
    return (*fields, moment, offset)
