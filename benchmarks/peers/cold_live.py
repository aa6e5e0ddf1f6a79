"""`cold`: history in files, then files that arrive. Prints the count of each key after either."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import FileSource, HybridSource

ROW = Types.ROW_NAMED(["key", "part"], [Types.LONG(), Types.STRING()])
RECORDS, KEYS = 1000, 5
DIRECTORY = Path(sys.argv[1])

for part in ("history", "live"):
    rows = "".join(json.dumps({"key": n % KEYS, "part": part}) + "\n" for n in range(RECORDS))
    (DIRECTORY / part).mkdir()
    (DIRECTORY / part / "rows.json").write_text(rows, encoding="utf-8")
settings = {
    "execution.checkpointing.dir": str(DIRECTORY / "checkpoint"),
    "execution.checkpointing.interval-during-backlog": "0",
}
env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
history = FileSource.json(DIRECTORY / "history", type_info=ROW)
live = FileSource.json(DIRECTORY / "live", type_info=ROW).monitor_continuously()
source = HybridSource.builder(history).add_source(live).build()
found = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows")
counts = found.map(lambda row: (row.key, 1, row.part)).key_by(lambda row: row[0])
sums = counts.reduce(lambda a, b: (a[0], a[1] + b[1], b[2]))
sums.filter(lambda row: row[1] % (RECORDS // KEYS) == 0).print()
env.execute("cold live")
