"""A query of tables, and a stream of its result. A program for PyFlink that takes work to port."""

from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.cassandra import CassandraSink
from pyflink.datastream.functions import MapFunction, NullByteKeySelector
from pyflink.table import StreamTableEnvironment
from pyflink.table.expressions import col

env = StreamExecutionEnvironment.get_execution_environment()
tables = StreamTableEnvironment.create(env)
orders = tables.from_elements([("ann", 5), ("bob", 3)], ["customer", "amount"])
totals = orders.group_by(col("customer")).select(col("customer"), col("amount").sum)


class Seen(MapFunction):
    def map(self, value):
        return value


changes = tables.to_changelog_stream(totals).map(Seen())
changes.key_by(lambda row: {row[0]}).sum(1).print()
changes.key_by(NullByteKeySelector()).sum(1).set_uid_hash("0" * 32).print()
CassandraSink.add_sink(changes)
env.execute("totals")
