package penstock.bench;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.flink.api.common.JobID;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** Speaks the protocol of benchmarks/systems/serve.py over one mini cluster that stays warm. */
public final class Bench implements Served {

    private static final ObjectMapper JSON = new ObjectMapper();

    private final JsonNode specification;
    private final Shape shape;
    private final Cluster started;
    private final Nexmark nexmark;

    private Bench(JsonNode specification) throws Exception {
        this.specification = specification;
        JsonNode size = specification.get("shape");
        shape =
                new Shape(
                        size.get("records").asLong(),
                        size.get("keys").asLong(),
                        size.get("parallelism").asInt());
        started = Cluster.start(specification, shape.parallelism(), size.get("mode").asText());
        boolean isNexmark = specification.get("program").asText().equals("nexmark");
        nexmark =
                isNexmark
                        ? new Nexmark(specification, started.settings(), started.cluster())
                        : null;
    }

    private double run(boolean digests) throws Exception {
        Digest.reset();
        long began = System.nanoTime();
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(started.settings());
        Programs.BY_NAME
                .get(specification.get("program").asText())
                .build(env, shape, digests);
        ClassLoader loader = Bench.class.getClassLoader();
        started.cluster()
                .executeJobBlocking(env.getStreamGraph().getJobGraph(loader, new JobID()));
        return (System.nanoTime() - began) / 1e9;
    }

    @Override
    public Map<String, Object> answer(String command) throws Exception {
        switch (command) {
            case "warm_up":
                if (nexmark == null) {
                    run(false);
                } else {
                    nexmark.round();
                }
                // Both clocks count from the start of the machine (CLOCK_MONOTONIC).
                double now = System.nanoTime() / 1e9;
                return Map.of("cold_seconds", now - specification.get("spawned").asDouble());
            case "round":
                if (nexmark != null) {
                    return nexmark.round();
                }
                return Map.of("records", shape.records(), "seconds", run(false));
            case "check":
                if (nexmark != null) {
                    return nexmark.check();
                }
                run(true);
                return Map.of(
                        "count", Digest.COUNT.sum(),
                        "digest", String.format("%016x", Digest.SUM.sum()));
            case "close":
                started.cluster().close();
                return Map.of();
            default:
                throw new IllegalArgumentException("there is no command " + command);
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        Served system = null;
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode command = JSON.readTree(line);
            String name = command.get("do").asText();
            Map<String, Object> answer;
            try {
                if (name.equals("start")) {
                    JsonNode told = command.get("specification");
                    system = told.has("feed") ? new LiveState(told) : new Bench(told);
                    answer = Map.of("ok", Map.of());
                } else {
                    answer = Map.of("ok", system.answer(name));
                }
            } catch (Exception | Error error) {
                error.printStackTrace();
                answer = Map.of("error", String.valueOf(root(error)));
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
            if (name.equals("close")) {
                System.exit(0);
            }
        }
    }

    private static Throwable root(Throwable error) {
        return error.getCause() == null ? error : root(error.getCause());
    }
}
