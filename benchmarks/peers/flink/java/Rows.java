package penstock.bench;

import java.util.concurrent.atomic.LongAdder;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.api.java.tuple.Tuple3;

/** Counts rows, and digests them while somebody asks for it, in this JVM. */
final class Rows implements Sink<Tuple3<Long, Long, Long>> {

    static final LongAdder OUT = new LongAdder();
    static volatile boolean digests;

    @Override
    public SinkWriter<Tuple3<Long, Long, Long>> createWriter(WriterInitContext context) {
        return new Writer();
    }

    private static final class Writer implements SinkWriter<Tuple3<Long, Long, Long>> {

        @Override
        public void write(Tuple3<Long, Long, Long> row, Context context) {
            if (digests) {
                Digest.COUNT.increment();
                Digest.SUM.add(Digest.hash(new long[] {row.f0, row.f1, row.f2}));
            }
            OUT.increment();
        }

        @Override
        public void flush(boolean endOfInput) {}

        @Override
        public void close() {}
    }
}
