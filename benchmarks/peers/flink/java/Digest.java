package penstock.bench;

import java.util.concurrent.atomic.LongAdder;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;

/** Counts rows and adds up their hashes, as benchmarks/model/digest.py does, in this JVM. */
final class Digest implements Sink<long[]> {

    static final LongAdder COUNT = new LongAdder();
    static final LongAdder SUM = new LongAdder();

    private static final long SEED = 0x9E3779B97F4A7C15L;

    static void reset() {
        COUNT.reset();
        SUM.reset();
    }

    static long hash(long[] row) {
        long hashed = SEED;
        for (long value : row) {
            hashed = mix(hashed + value);
        }
        return hashed;
    }

    @Override
    public SinkWriter<long[]> createWriter(WriterInitContext context) {
        return new Writer();
    }

    static long mix(long value) {
        long mixed = (value ^ (value >>> 30)) * 0xBF58476D1CE4E5B9L;
        mixed = (mixed ^ (mixed >>> 27)) * 0x94D049BB133111EBL;
        return mixed ^ (mixed >>> 31);
    }

    private static final class Writer implements SinkWriter<long[]> {

        @Override
        public void write(long[] row, Context context) {
            COUNT.increment();
            SUM.add(hash(row));
        }

        @Override
        public void flush(boolean endOfInput) {}

        @Override
        public void close() {}
    }
}
