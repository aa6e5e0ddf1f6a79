"""Words are counted. A program for PyFlink, as its tutorials write them."""

from pyflink.common import Types
from pyflink.datastream import (  # pyflink is replaced here, not in this comment
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)

LINES = ["to be or not to be", "that is the question"]


def word_count():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(1)
    env.set_buffer_timeout(10)
    lines = env.from_collection(LINES, type_info=Types.STRING())
    counts = (
        lines.flat_map(str.split)
        .map(lambda word: (word, 1), output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda pair: pair[0], key_type=Types.STRING())
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    counts.print()
    env.execute("word count")


if __name__ == "__main__":
    word_count()
