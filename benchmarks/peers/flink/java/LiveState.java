package penstock.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.source.legacy.RichParallelSourceFunction;
import org.apache.flink.util.Collector;

/**
 * The program of benchmarks/programs/live_state.py: per record it reads the count and the sum of its
 * key, changes them, writes them back and puts out a row. Records are those of
 * benchmarks/inputs/feed.py; each subtask computes its file of a micro-batch, which costs less than
 * reading it. Flink has no micro-batches: one ends when all its rows are out.
 */
final class LiveState implements Served {

    private static final long VALUE_SEED = 1L << 63;
    private static final long VALUES = 1000;

    /** One queue of micro-batches per subtask, in this JVM. */
    private static List<BlockingQueue<Batch>> queues = List.of();

    private static volatile boolean isOpen = true;

    private final long keys;
    private final long microBatch;
    private final int warmUpBatches;
    private final int roundBatches;
    private final double spawned;
    private final MiniCluster cluster;
    private final JobID job = new JobID();
    private long delivered;
    private long next;

    LiveState(JsonNode specification) throws Exception {
        JsonNode feed = specification.get("feed");
        keys = feed.get("keys").asLong();
        microBatch = feed.get("micro_batch").asLong();
        warmUpBatches = specification.get("rhythm").get("warm_up_batches").asInt();
        roundBatches = specification.get("rhythm").get("round_batches").asInt();
        spawned = specification.get("spawned").asDouble();
        int parallelism = specification.get("parallelism").asInt();
        List<BlockingQueue<Batch>> made = new ArrayList<>();
        for (int subtask = 0; subtask < parallelism; subtask++) {
            made.add(new LinkedBlockingQueue<>());
        }
        queues = made;
        Cluster started = Cluster.start(specification, parallelism, "STREAMING");
        cluster = started.cluster();
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(started.settings());
        env.addSource(new Records(), Types.TUPLE(Types.LONG, Types.LONG))
                .keyBy(record -> record.f0, Types.LONG)
                .process(new CountAndSum())
                .returns(Types.TUPLE(Types.LONG, Types.LONG, Types.LONG))
                .sinkTo(new Rows());
        JobGraph graph = env.getStreamGraph().getJobGraph(Bench.class.getClassLoader(), job);
        cluster.submitJob(graph).get();
    }

    @Override
    public Map<String, Object> answer(String command) throws Exception {
        switch (command) {
            case "warm_up":
                return warmUp();
            case "round":
                return round();
            case "check":
                Digest.reset();
                Rows.digests = true;
                await(sweep());
                return Map.of(
                        "count", Digest.COUNT.sum(),
                        "digest", String.format("%016x", Digest.SUM.sum()));
            case "close":
                isOpen = false;
                cluster.close();
                return Map.of();
            default:
                throw new IllegalArgumentException("there is no command " + command);
        }
    }

    private Map<String, Object> warmUp() throws Exception {
        double started = now();
        long first = delivered + 1;
        long filled = sweep();
        double cold = await(first) - spawned;
        double end = await(filled);
        await(live(warmUpBatches));
        return Map.of("cold_seconds", cold, "fill_records", keys, "fill_seconds", end - started);
    }

    private Map<String, Object> round() throws Exception {
        double began = now();
        List<Double> at = await(live(1 + roundBatches));
        List<Double> latencies = new ArrayList<>();
        for (int batch = 1; batch < at.size(); batch++) {
            latencies.add(at.get(batch) - at.get(batch - 1));
        }
        return Map.of(
                "records", roundBatches * microBatch,
                "seconds", at.get(at.size() - 1) - at.get(0),
                "latencies", latencies,
                "lead_in_seconds", at.get(0) - began,
                "checkpoint_bytes", 0);
    }

    /** Delivers every key once, and returns how many rows are out after it. */
    private long sweep() {
        for (long first = 0; first < keys; first += microBatch) {
            deliver(new Batch(first, Math.min(microBatch, keys - first), 0));
        }
        return delivered;
    }

    /** Delivers the next live micro-batches, and returns how many rows are out after each. */
    private List<Long> live(int count) {
        List<Long> ends = new ArrayList<>();
        for (int batch = 0; batch < count; batch++) {
            deliver(new Batch(next * microBatch, microBatch, keys));
            next++;
            ends.add(delivered);
        }
        return ends;
    }

    private void deliver(Batch batch) {
        delivered += batch.count();
        queues.forEach(queue -> queue.add(batch));
    }

    private List<Double> await(List<Long> totals) throws Exception {
        List<Double> at = new ArrayList<>();
        for (long total : totals) {
            at.add(await(total));
        }
        return at;
    }

    /** Waits until some rows are out, and returns the time. */
    private double await(long total) throws Exception {
        for (int times = 1; Rows.OUT.sum() < total; times++) {
            Thread.sleep(1);
            if (times % 1000 == 0 && cluster.getJobStatus(job).get().isTerminalState()) {
                throw new IllegalStateException("the job ended by itself");
            }
        }
        return now();
    }

    /** CLOCK_MONOTONIC, as in other processes. */
    private static double now() {
        return System.nanoTime() / 1e9;
    }

    /** Records [first, first + count); of keys in order if `keys` is 0, else drawn from `keys`. */
    private record Batch(long first, long count, long keys) {

        Tuple2<Long, Long> at(long index) {
            if (keys == 0) {
                return Tuple2.of(index, 1L);
            }
            return Tuple2.of(
                    Long.remainderUnsigned(Digest.mix(index), keys),
                    Long.remainderUnsigned(Digest.mix(index + VALUE_SEED), VALUES));
        }
    }

    private static final class Records extends RichParallelSourceFunction<Tuple2<Long, Long>> {

        @Override
        public void run(SourceContext<Tuple2<Long, Long>> context) throws Exception {
            int subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
            int files = getRuntimeContext().getTaskInfo().getNumberOfParallelSubtasks();
            while (isOpen) {
                Batch batch = queues.get(subtask).poll(10, TimeUnit.MILLISECONDS);
                if (batch == null) {
                    continue;
                }
                long end = batch.first() + batch.count() * (subtask + 1) / files;
                for (long i = batch.first() + batch.count() * subtask / files; i < end; i++) {
                    context.collect(batch.at(i));
                }
            }
        }

        @Override
        public void cancel() {
            isOpen = false;
        }
    }

    private static final class CountAndSum
            extends KeyedProcessFunction<Long, Tuple2<Long, Long>, Tuple3<Long, Long, Long>> {

        private transient ValueState<Tuple2<Long, Long>> total;

        @Override
        public void open(OpenContext context) {
            total =
                    getRuntimeContext()
                            .getState(
                                    new ValueStateDescriptor<>(
                                            "total", Types.TUPLE(Types.LONG, Types.LONG)));
        }

        @Override
        public void processElement(
                Tuple2<Long, Long> record, Context context, Collector<Tuple3<Long, Long, Long>> out)
                throws Exception {
            Tuple2<Long, Long> before = total.value();
            Tuple2<Long, Long> after =
                    before == null
                            ? Tuple2.of(1L, record.f1)
                            : Tuple2.of(before.f0 + 1, before.f1 + record.f1);
            total.update(after);
            out.collect(Tuple3.of(record.f0, after.f0, after.f1));
        }
    }
}
