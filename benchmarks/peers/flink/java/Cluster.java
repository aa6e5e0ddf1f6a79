package penstock.bench;

import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.configuration.ExecutionOptions;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;

/** A mini cluster that stays warm, and the settings of its jobs. */
record Cluster(MiniCluster cluster, Configuration settings) {

    /** Starts one for a system that is told where it works and which state backend it has. */
    static Cluster start(JsonNode specification, int parallelism, String mode) throws Exception {
        Configuration settings = new Configuration();
        settings.set(CoreOptions.DEFAULT_PARALLELISM, parallelism);
        settings.set(ExecutionOptions.RUNTIME_MODE, RuntimeExecutionMode.valueOf(mode));
        settings.set(
                StateBackendOptions.STATE_BACKEND,
                specification.get("options").get("state.backend.type").asText());
        settings.set(CoreOptions.TMP_DIRS, specification.get("work").asText());
        Configuration ofCluster = new Configuration(settings);
        // What sorting in BATCH and RocksDB may use, outside the heap.
        ofCluster.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, MemorySize.parse("512m"));
        ofCluster.set(TaskManagerOptions.NETWORK_MEMORY_MIN, MemorySize.parse("128m"));
        ofCluster.set(TaskManagerOptions.NETWORK_MEMORY_MAX, MemorySize.parse("128m"));
        MiniCluster cluster =
                new MiniCluster(
                        new MiniClusterConfiguration.Builder()
                                .setConfiguration(ofCluster)
                                .setNumTaskManagers(1)
                                .setNumSlotsPerTaskManager(parallelism)
                                .withRandomPorts()
                                .build());
        cluster.start();
        return new Cluster(cluster, settings);
    }
}
