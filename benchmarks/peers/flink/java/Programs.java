package penstock.bench;

import java.time.Duration;
import java.util.Map;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.CoGroupFunction;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.typeinfo.PrimitiveArrayTypeInfo;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.windowing.assigners.GlobalWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.util.Collector;

/** The programs, each as its Python counterpart in benchmarks/programs has it. */
final class Programs {

    /** Adds a program to an environment; rows are digested, or dropped. */
    interface Program {
        void build(StreamExecutionEnvironment env, Shape shape, boolean digests);
    }

    static final Map<String, Program> BY_NAME =
            Map.of(
                    "reduce", Programs::reduce,
                    "expressions", Programs::reduce,
                    "aggregate", Programs::aggregate,
                    "window-reduce", Programs::windowReduce,
                    "window-expressions", Programs::windowReduce,
                    "co-group", Programs::coGroup);

    private Programs() {}

    private static void reduce(StreamExecutionEnvironment env, Shape shape, boolean digests) {
        long keys = shape.keys();
        DataStream<Tuple3<Long, Long, Long>> results =
                env.fromSequence(0, shape.records() - 1)
                        .map(v -> Tuple3.of(v % keys, v, 1L))
                        .returns(Types.TUPLE(Types.LONG, Types.LONG, Types.LONG))
                        .keyBy(record -> record.f0, Types.LONG)
                        .reduce((a, b) -> Tuple3.of(a.f0, Math.max(a.f1, b.f1), a.f2 + b.f2));
        if (digests) {
            // In STREAMING there is a row per record; the last one of a key counts.
            results = results.filter(row -> row.f2 >= shape.countOf(row.f0));
        }
        end(results, row -> new long[] {row.f0, row.f1, row.f2}, digests);
    }

    private static void aggregate(StreamExecutionEnvironment env, Shape shape, boolean digests) {
        long keys = shape.keys();
        DataStream<Tuple2<Long, Double>> sums =
                env.fromSequence(0, shape.records() - 1)
                        .map(i -> Tuple2.of(i % keys, 1.0))
                        .returns(Types.TUPLE(Types.LONG, Types.DOUBLE))
                        .keyBy(record -> record.f0, Types.LONG)
                        .window(GlobalWindows.createWithEndOfStreamTrigger())
                        .reduce((a, b) -> Tuple2.of(a.f0, a.f1 + b.f1));
        end(sums, row -> new long[] {row.f0, row.f1.longValue()}, digests);
    }

    private static void windowReduce(StreamExecutionEnvironment env, Shape shape, boolean digests) {
        long keys = shape.keys();
        long lanes = shape.lanes();
        long length = shape.records() / lanes;
        DataStream<Tuple3<Long, Long, Long>> sums =
                env.fromSequence(0, shape.records() - 1)
                        .map(i -> i % length * lanes + i / length)
                        .returns(Types.LONG)
                        .map(v -> Tuple3.of(v % keys, v, 1L))
                        .returns(Types.TUPLE(Types.LONG, Types.LONG, Types.LONG))
                        .assignTimestampsAndWatermarks(
                                WatermarkStrategy.<Tuple3<Long, Long, Long>>forMonotonousTimestamps()
                                        .withTimestampAssigner((record, before) -> record.f1))
                        .keyBy(record -> record.f0, Types.LONG)
                        .window(TumblingEventTimeWindows.of(Duration.ofMillis(2 * keys)))
                        .reduce((a, b) -> Tuple3.of(a.f0, a.f1 + b.f1, a.f2 + b.f2));
        end(sums, row -> new long[] {row.f0, row.f1, row.f2}, digests);
    }

    private static void coGroup(StreamExecutionEnvironment env, Shape shape, boolean digests) {
        DataStream<Integer> ones =
                side(env, shape)
                        .coGroup(side(env, shape))
                        .where(record -> record.f0, Types.LONG)
                        .equalTo(record -> record.f0, Types.LONG)
                        .window(GlobalWindows.createWithEndOfStreamTrigger())
                        .apply(new EmitOne(), Types.INT);
        end(ones, row -> new long[] {row}, digests);
    }

    private static DataStream<Tuple3<Long, Long, Double>> side(
            StreamExecutionEnvironment env, Shape shape) {
        return env.fromSequence(0, shape.records() - 1)
                .map(i -> Tuple3.of(2 * i, 2 * i + 1, 1.0))
                .returns(Types.TUPLE(Types.LONG, Types.LONG, Types.DOUBLE));
    }

    private static <T> void end(
            DataStream<T> results, MapFunction<T, long[]> toRow, boolean digests) {
        if (digests) {
            results.map(toRow)
                    .returns(PrimitiveArrayTypeInfo.LONG_PRIMITIVE_ARRAY_TYPE_INFO)
                    .sinkTo(new Digest());
        } else {
            results.sinkTo(new DiscardingSink<>());
        }
    }

    private static final class EmitOne
            implements CoGroupFunction<
                    Tuple3<Long, Long, Double>, Tuple3<Long, Long, Double>, Integer> {

        @Override
        public void coGroup(
                Iterable<Tuple3<Long, Long, Double>> first,
                Iterable<Tuple3<Long, Long, Double>> second,
                Collector<Integer> out) {
            out.collect(1);
        }
    }
}
