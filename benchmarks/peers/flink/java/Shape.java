package penstock.bench;

import java.io.Serializable;

/** The size of a program's input; see benchmarks/model/shape.py. */
record Shape(long records, long keys, int parallelism) implements Serializable {

    /** How many records a key has. */
    long countOf(long key) {
        return records / keys + (key < records % keys ? 1 : 0);
    }

    /** Into how many ranges of equal length the records can be cut, one per subtask. */
    long lanes() {
        return records % parallelism == 0 ? parallelism : 1;
    }
}
