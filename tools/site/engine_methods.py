"""Public methods that no program calls or overrides: pages leave them out, and they need no example."""

from __future__ import annotations

ENGINE_METHODS = {
    "The environment calls it, when settings are set and read": (
        "CheckpointStorage.of",
        "CheckpointStorage.store",
        "RestartStrategyConfiguration.store",
        "StateBackend.of",
        "StateBackend.store",
    ),
    "The planner calls it, for its own form of what the program said": (
        "HybridSource.is_processing_backlog",
        "StateDescriptor.schema",
        "StateTtlConfig.rule",
        "WatermarkStrategy.watermarking",
    ),
    "`penstock run` calls it, which lays its options over those of the program, and shows them": (
        "Configuration.layered",
        "Configuration.shown",
        "Configuration.source_of",
    ),
    "Handles of streams, and the environment, call it to make other handles": (
        "CloseableIterator.attach",
        "DataStream.of_source",
        "DataStream.window_operator",
        "JoinedKeys.keyed_sides",
        "RegularJoinForms.keyed_sides",
        "StreamBase.join_with",
        "StreamExecutionEnvironment.stream_of",
    ),
    "They call it to make the graph": (
        "GraphBuilder.add",
        "GraphBuilder.change",
        "GraphBuilder.node",
        "GraphBuilder.remove",
        "GraphBuilder.sources_of",
    ),
    "The runtime calls it": (
        "_ContinuousTrigger.register_next_fire_timestamp",
        "ExternalSorter.close",
        "LogSource.batches",
        "PositionedSource.exact_batches",
        "PositionedSource.exact_ends_now",
        "PositionedSource.exact_position_at",
        "PositionedSource.exact_start",
        "Metric.take",
        "TypeInformation.coerce_batch",
        "TypeInformation.fit",
        "TypeInformation.has_form",
    ),
    "The job's records have the form that it writes": (
        "SourceSwitch.from_json",
        "SourceSwitch.to_json",
    ),
}
"""Who calls a method, to such methods. What is `typing.final` is called by the engine, too."""

NOT_FOR_PROGRAMS = frozenset(name for names in ENGINE_METHODS.values() for name in names)
