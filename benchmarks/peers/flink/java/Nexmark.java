package penstock.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.functions.MapFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.TableDescriptor;
import org.apache.flink.table.api.bridge.java.StreamStatementSet;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;

/**
 * Queries of Nexmark in Flink SQL, in BATCH mode. The tables are rows in this heap, read by their numbers, so no file is read while
 * anything is measured; results go to the connector blackhole.
 */
final class Nexmark {

    private static final Map<String, Row[]> TABLES = new ConcurrentHashMap<>();
    private static final Map<String, TypeInformation<?>> TYPES =
            Map.of(
                    "BIGINT", Types.LONG,
                    "STRING", Types.STRING,
                    "TIMESTAMP(3)", Types.LOCAL_DATE_TIME);
    private static final List<String> ADAPTIVE =
            List.of(
                    "table.optimizer.adaptive-broadcast-join.strategy",
                    "table.optimizer.skewed-join-optimization.strategy");
    private static final String TIME = "dateTime";

    private final MiniCluster cluster;
    private final Configuration settings;
    private final long records;
    private final Map<String, String> queries = new LinkedHashMap<>();
    private final Map<String, String[]> columns = new LinkedHashMap<>();
    private final Map<String, String[]> kinds = new LinkedHashMap<>();

    Nexmark(JsonNode specification, Configuration settings, MiniCluster cluster) throws IOException {
        this.cluster = cluster;
        this.settings = settings;
        JsonNode options = specification.get("options");
        Path input = Path.of(options.get("input").asText());
        for (String name : options.get("queries").asText().split(" ")) {
            queries.put(name, Files.readString(input.resolve(name + ".sql")));
        }
        try (Stream<Path> files = Files.list(input)) {
            for (Path file : (Iterable<Path>) files.filter(p -> p.toString().endsWith(".tsv"))::iterator) {
                load(file);
            }
        }
        records = specification.get("shape").get("records").asLong() * queries.size();
    }

    /** Reads a table: a line of names, a line of types, and the rows. */
    private void load(Path file) throws IOException {
        String table = file.getFileName().toString().replace(".tsv", "");
        List<Row> rows = new ArrayList<>();
        try (BufferedReader lines = Files.newBufferedReader(file, StandardCharsets.UTF_8)) {
            columns.put(table, lines.readLine().split("\t"));
            String[] types = lines.readLine().split("\t");
            kinds.put(table, types);
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] fields = line.split("\t", -1);
                Row row = new Row(fields.length);
                for (int at = 0; at < fields.length; at++) {
                    row.setField(at, value(types[at], fields[at]));
                }
                rows.add(row);
            }
        }
        TABLES.put(table, rows.toArray(new Row[0]));
    }

    private static Object value(String type, String text) {
        switch (type) {
            case "BIGINT":
                return Long.parseLong(text);
            case "TIMESTAMP(3)":
                return LocalDateTime.ofInstant(
                        Instant.ofEpochMilli(Long.parseLong(text)), ZoneOffset.UTC);
            default:
                return text;
        }
    }

    /** Runs every query once; returns the seconds of each, or the digest of all. */
    Map<String, Object> round() throws Exception {
        Map<String, Object> answer = new LinkedHashMap<>();
        double total = 0;
        for (String name : queries.keySet()) {
            long started = System.nanoTime();
            run(name, false);
            double seconds = (System.nanoTime() - started) / 1e9;
            answer.put(name + "_seconds", seconds);
            total += seconds;
        }
        answer.put("records", records);
        answer.put("seconds", total);
        return answer;
    }

    Map<String, Object> check() throws Exception {
        long count = 0;
        long sum = 0;
        long place = 0;
        for (String name : queries.keySet()) {
            Digest.reset();
            run(name, true);
            place++;
            count += Digest.COUNT.sum();
            sum += place * Digest.SUM.sum();
            System.err.println(name + " " + Digest.COUNT.sum() + " " + Digest.SUM.sum());
        }
        return Map.of("count", count, "digest", String.format("%016x", sum));
    }

    private void run(String name, boolean digests) throws Exception {
        System.err.println("query " + name);
        StreamExecutionEnvironment env =
                StreamExecutionEnvironment.getExecutionEnvironment(settings);
        StreamTableEnvironment tables =
                StreamTableEnvironment.create(
                        env, EnvironmentSettings.newInstance().inBatchMode().build());
        // Joins that change while they run need a scheduler that a job graph does not get.
        for (String option : ADAPTIVE) {
            tables.getConfig().set(option, "none");
        }
        for (String table : columns.keySet()) {
            tables.createTemporaryView(table, table(env, tables, table));
        }
        Table result = tables.sqlQuery(queries.get(name));
        if (digests) {
            tables.toDataStream(result).sinkTo(new RowDigest());
        } else {
            StreamStatementSet statements = tables.createStatementSet();
            statements.add(
                    result.insertInto(TableDescriptor.forConnector("blackhole").build()));
            statements.attachAsDataStream();
        }
        ClassLoader loader = Nexmark.class.getClassLoader();
        cluster.executeJobBlocking(env.getStreamGraph().getJobGraph(loader, new JobID()));
    }

    private Table table(StreamExecutionEnvironment env, StreamTableEnvironment tables, String table) {
        String[] names = columns.get(table);
        String[] types = kinds.get(table);
        TypeInformation<?>[] infos = new TypeInformation<?>[types.length];
        Schema.Builder schema = Schema.newBuilder();
        for (int at = 0; at < types.length; at++) {
            infos[at] = TYPES.get(types[at]);
            schema.column(names[at], types[at]);
            if (names[at].equals(TIME)) {
                schema.watermark(TIME, "`" + TIME + "` - INTERVAL '4' SECOND");
            }
        }
        DataStream<Row> rows =
                env.fromSequence(0, TABLES.get(table).length - 1)
                        .map(new RowOf(table))
                        .returns(Types.ROW_NAMED(names, infos));
        return tables.fromDataStream(rows, schema.build());
    }

    private static final class RowOf implements MapFunction<Long, Row> {

        private final String table;
        private transient Row[] rows;

        RowOf(String table) {
            this.table = table;
        }

        @Override
        public Row map(Long number) {
            if (rows == null) {
                rows = TABLES.get(table);
            }
            return rows[number.intValue()];
        }
    }

    /** Counts rows and adds up 32 bits of the MD5 of their texts, as benchmarks/answers/nexmark_tables.py does. */
    private static final class RowDigest implements Sink<Row> {

        @Override
        public SinkWriter<Row> createWriter(WriterInitContext context) {
            return new Writer();
        }
    }

    private static final class Writer implements SinkWriter<Row> {

        private final MessageDigest md5;

        Writer() {
            try {
                md5 = MessageDigest.getInstance("MD5");
            } catch (NoSuchAlgorithmException missing) {
                throw new IllegalStateException(missing);
            }
        }

        @Override
        public void write(Row row, Context context) {
            StringBuilder text = new StringBuilder();
            for (int at = 0; at < row.getArity(); at++) {
                text.append(at == 0 ? "" : "|").append(text(row.getField(at)));
            }
            byte[] found = md5.digest(text.toString().getBytes(StandardCharsets.UTF_8));
            long bits = 0;
            for (int at = 0; at < 4; at++) {
                bits = bits << 8 | (found[at] & 0xFF);
            }
            Digest.COUNT.increment();
            Digest.SUM.add(bits);
        }

        private static String text(Object value) {
            if (value == null) {
                return "~";
            }
            if (value instanceof BigDecimal) {
                return ((BigDecimal) value).setScale(6).toPlainString();
            }
            if (value instanceof LocalDateTime) {
                Instant instant = ((LocalDateTime) value).toInstant(ZoneOffset.UTC);
                return String.valueOf(ChronoUnit.MICROS.between(Instant.EPOCH, instant));
            }
            return value.toString();
        }

        @Override
        public void flush(boolean endOfInput) {}

        @Override
        public void close() {}
    }
}
