package penstock.bench;

import java.util.Map;

/** A system, as benchmarks/systems/serve.py calls one. */
interface Served {

    /** Answers warm_up, round, check or close. */
    Map<String, Object> answer(String command) throws Exception;
}
