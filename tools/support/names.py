"""Every name of the DataStream API of PyFlink 2.3 and what becomes of it here.

A table, in text because of its size: a line `# section`; a line `module:Class status`; below it
the methods of the class, `status: names`. Statuses are those of `Status`. What PyFlink has for
Java alone is `absent`.
"""

from __future__ import annotations

NAMES = """\
# Environment

penstock.datastream:StreamExecutionEnvironment works
  works: get_config set_parallelism set_max_parallelism get_parallelism get_max_parallelism
    set_runtime_mode disable_operator_chaining is_chaining_enabled get_checkpoint_config
    enable_checkpointing get_checkpoint_interval set_default_savepoint_directory
    get_default_savepoint_directory configure add_python_file set_python_requirements
    add_python_archive set_python_executable execute execute_async get_execution_plan
    get_execution_environment add_source from_source from_collection close
  accepted: register_slot_sharing_group set_buffer_timeout get_buffer_timeout
    get_checkpointing_mode get_checkpointing_consistency_mode enable_changelog_state_backend
    is_changelog_state_backend_enabled get_default_local_parallelism
    set_default_local_parallelism register_cached_file is_unaligned_checkpoints_enabled
    is_force_unaligned_checkpoints
  absent: is_chaining_of_operators_with_different_max_parallelism_enabled add_jars
    add_classpaths create_input

# DataStream family

penstock.datastream:DataStream works
  works: get_name name uid set_parallelism get_type get_execution_environment
    get_execution_config force_non_parallel start_new_chain disable_chaining set_description
    map flat_map key_by filter window_all union connect shuffle project rescale rebalance
    forward broadcast process assign_timestamps_and_watermarks partition_custom add_sink
    sink_to execute_and_collect print get_side_output cache
  accepted: set_max_parallelism set_buffer_timeout slot_sharing_group
  absent: set_uid_hash
penstock.datastream:DataStreamSink works
  works: name uid set_parallelism set_description disable_chaining
  accepted: slot_sharing_group
  absent: set_uid_hash
penstock.datastream:KeyedStream works
  works: map flat_map reduce filter sum min max min_by max_by add_sink key_by process window
    count_window union connect shuffle project rescale rebalance forward broadcast
    partition_custom print set_parallelism name get_name uid force_non_parallel
    start_new_chain disable_chaining cache
  accepted: set_max_parallelism set_buffer_timeout slot_sharing_group
  absent: set_uid_hash
penstock.datastream:KeyedStream.AccumulateType works
penstock.datastream.data_stream:CachedDataStream works
  works: invalidate set_parallelism name get_name uid force_non_parallel start_new_chain
    disable_chaining
  accepted: set_max_parallelism set_buffer_timeout slot_sharing_group
  absent: set_uid_hash
penstock.datastream:WindowedStream works
  works: get_execution_environment get_input_type trigger allowed_lateness
    side_output_late_data reduce aggregate apply process
penstock.datastream.data_stream:AllWindowedStream works
  works: get_execution_environment get_input_type trigger allowed_lateness
    side_output_late_data reduce aggregate apply process
penstock.datastream:ConnectedStreams works
  works: key_by map flat_map process
penstock.datastream:BroadcastStream works
penstock.datastream:BroadcastConnectedStream works
  works: process
penstock.datastream.data_stream:CloseableIterator works
  works: next close

# Functions

penstock.datastream.functions:KeyedStateStore works
  works: get_state get_list_state get_map_state get_reducing_state get_aggregating_state
penstock.datastream:RuntimeContext works
  works: get_task_name get_number_of_parallel_subtasks get_max_number_of_parallel_subtasks
    get_index_of_this_subtask get_attempt_number get_task_name_with_subtasks
    get_job_parameter get_metrics_group
penstock.datastream.functions:Function works
  works: open close
penstock.datastream:MapFunction works
  works: map
penstock.datastream:CoMapFunction works
  works: map1 map2
penstock.datastream:FlatMapFunction works
  works: flat_map
penstock.datastream:CoFlatMapFunction works
  works: flat_map1 flat_map2
penstock.datastream:ReduceFunction works
  works: reduce
penstock.datastream:AggregateFunction works
  works: create_accumulator add get_result merge
penstock.datastream:KeySelector works
  works: get_key
penstock.datastream.functions:NullByteKeySelector absent
penstock.datastream:FilterFunction works
  works: filter
penstock.datastream:Partitioner works
  works: partition
penstock.datastream.functions:FunctionWrapper absent
penstock.datastream.functions:ReduceFunctionWrapper absent
penstock.datastream.functions:JavaFunctionWrapper absent
penstock.datastream:SourceFunction works
penstock.datastream:SinkFunction works
penstock.datastream:ProcessFunction works
  works: process_element
penstock.datastream:ProcessFunction.Context works
  works: timer_service timestamp
penstock.datastream:KeyedProcessFunction works
  works: process_element on_timer
penstock.datastream:KeyedProcessFunction.Context works
  works: get_current_key timer_service timestamp
penstock.datastream:KeyedProcessFunction.OnTimerContext works
  works: time_domain
penstock.datastream:CoProcessFunction works
  works: process_element1 process_element2
penstock.datastream:CoProcessFunction.Context works
  works: timer_service timestamp
penstock.datastream:KeyedCoProcessFunction works
  works: process_element1 process_element2 on_timer
penstock.datastream:KeyedCoProcessFunction.Context works
  works: get_current_key timer_service timestamp
penstock.datastream:KeyedCoProcessFunction.OnTimerContext works
  works: time_domain
penstock.datastream:AsyncRetryPredicate works
  works: result_predicate exception_predicate
penstock.datastream:AsyncRetryStrategy works
  works: can_retry get_backoff_time_millis get_retry_predicate no_restart fixed_delay
    exponential_backoff
penstock.datastream:AsyncFunction works
  works: async_invoke timeout
penstock.datastream.functions:AsyncFunctionDescriptor absent
penstock.datastream.functions:AsyncFunctionDescriptor.OutputMode absent
penstock.datastream:WindowFunction works
  works: apply
penstock.datastream.functions:AllWindowFunction works
  works: apply
penstock.datastream:ProcessWindowFunction works
  works: process clear
penstock.datastream:ProcessWindowFunction.Context works
  works: window current_processing_time current_watermark window_state global_state
penstock.datastream.functions:ProcessAllWindowFunction works
  works: process clear
penstock.datastream.functions:ProcessAllWindowFunction.Context works
  works: window window_state global_state
penstock.datastream.functions:BaseBroadcastProcessFunction works
penstock.datastream.functions:BaseBroadcastProcessFunction.BaseContext works
  works: timestamp current_processing_time current_watermark
penstock.datastream.functions:BaseBroadcastProcessFunction.Context works
  works: get_broadcast_state
penstock.datastream.functions:BaseBroadcastProcessFunction.ReadOnlyContext works
  works: get_broadcast_state
penstock.datastream:BroadcastProcessFunction works
  works: process_element process_broadcast_element
penstock.datastream:BroadcastProcessFunction.Context works
penstock.datastream:BroadcastProcessFunction.ReadOnlyContext works
penstock.datastream:KeyedBroadcastProcessFunction works
  works: process_element process_broadcast_element on_timer
penstock.datastream:KeyedBroadcastProcessFunction.Context works
penstock.datastream:KeyedBroadcastProcessFunction.ReadOnlyContext works
  works: timer_service get_current_key
penstock.datastream:KeyedBroadcastProcessFunction.OnTimerContext works
  works: time_domain get_current_key

# State

penstock.datastream.state:OperatorStateStore works
  works: get_broadcast_state
penstock.datastream.state:State works
  works: clear
penstock.datastream.state:ValueState works
  works: value update
penstock.datastream.state:AppendingState works
  works: get add
penstock.datastream.state:MergingState works
penstock.datastream.state:ReducingState works
penstock.datastream.state:AggregatingState works
penstock.datastream.state:ListState works
  works: update add_all
penstock.datastream.state:MapState works
  works: get put put_all remove contains items keys values is_empty
penstock.datastream.state:ReadOnlyBroadcastState works
  works: get contains items keys values is_empty
penstock.datastream.state:BroadcastState works
  works: put put_all remove
penstock.datastream.state:StateDescriptor works
  works: get_name enable_time_to_live
penstock.datastream.state:ValueStateDescriptor works
penstock.datastream.state:ListStateDescriptor works
penstock.datastream.state:MapStateDescriptor works
penstock.datastream.state:ReducingStateDescriptor works
  works: get_reduce_function
penstock.datastream.state:AggregatingStateDescriptor works
  works: get_agg_function
penstock.datastream.state:StateTtlConfig works
  works: new_builder get_update_type get_state_visibility get_ttl
    get_ttl_time_characteristic is_enabled get_cleanup_strategies
penstock.datastream.state:StateTtlConfig.UpdateType works
penstock.datastream.state:StateTtlConfig.StateVisibility works
penstock.datastream.state:StateTtlConfig.TtlTimeCharacteristic accepted
penstock.datastream.state:StateTtlConfig.Builder works
  works: set_update_type update_ttl_on_create_and_write update_ttl_on_read_and_write
    set_state_visibility return_expired_if_not_cleaned_up never_return_expired set_ttl build
    cleanup_full_snapshot cleanup_incrementally cleanup_in_rocksdb_compact_filter
    disable_cleanup_in_background
  accepted: set_ttl_time_characteristic use_processing_time
penstock.datastream.state:StateTtlConfig.CleanupStrategies works
  works: is_cleanup_in_background in_full_snapshot get_incremental_cleanup_strategy
    get_rocksdb_compact_filter_cleanup_strategy
penstock.datastream.state:StateTtlConfig.CleanupStrategies.Strategies works
penstock.datastream.state:StateTtlConfig.CleanupStrategies.CleanupStrategy works
penstock.datastream.state:StateTtlConfig.CleanupStrategies.EmptyCleanupStrategy works
penstock.datastream.state:StateTtlConfig.CleanupStrategies.IncrementalCleanupStrategy works
  works: get_cleanup_size run_cleanup_for_every_record
penstock.datastream.state:StateTtlConfig.CleanupStrategies.RocksdbCompactFilterCleanupStrategy works
  works: get_query_time_after_num_entries get_periodic_compaction_time

# Windows, assigners, triggers

penstock.datastream:Window works
  works: max_timestamp
penstock.datastream:TimeWindow works
  works: max_timestamp intersects cover get_window_start_with_offset merge_windows
penstock.datastream:CountWindow works
  works: max_timestamp
penstock.datastream:GlobalWindow works
  works: get max_timestamp
penstock.datastream.window:TimeWindowSerializer works
penstock.datastream.window:CountWindowSerializer works
penstock.datastream.window:GlobalWindowSerializer works
penstock.datastream:TriggerResult works
  works: is_fire is_purge
penstock.datastream:Trigger works
  works: on_element on_processing_time on_event_time can_merge on_merge clear
penstock.datastream:Trigger.TriggerContext works
  works: get_current_processing_time get_metric_group get_current_watermark
    register_processing_time_timer register_event_time_timer delete_processing_time_timer
    delete_event_time_timer get_partitioned_state
penstock.datastream:Trigger.OnMergeContext works
  works: merge_partitioned_state
penstock.datastream:WindowAssigner works
  works: assign_windows get_default_trigger is_event_time
  absent: get_window_serializer
penstock.datastream:WindowAssigner.WindowAssignerContext works
  works: get_current_processing_time get_runtime_context
penstock.datastream:MergingWindowAssigner works
  works: merge_windows
penstock.datastream:MergingWindowAssigner.MergeCallback works
  works: merge
penstock.datastream.window:WindowOperationDescriptor absent
penstock.datastream.window:SessionWindowTimeGapExtractor works
  works: extract
penstock.datastream.window:EventTimeTrigger works
  works: on_element on_processing_time on_event_time can_merge on_merge clear create
penstock.datastream.window:ContinuousEventTimeTrigger works
  works: of on_element on_processing_time on_event_time on_merge clear can_merge
    register_next_fire_timestamp
penstock.datastream.window:Min absent
penstock.datastream.window:ProcessingTimeTrigger works
  works: on_element on_processing_time on_event_time can_merge on_merge clear create
penstock.datastream.window:ContinuousProcessingTimeTrigger works
  works: of on_element on_processing_time on_event_time on_merge clear can_merge
    register_next_fire_timestamp
penstock.datastream.window:PurgingTrigger works
  works: of on_element on_event_time on_processing_time clear can_merge on_merge
penstock.datastream.window:CountTrigger works
  works: of on_element on_processing_time on_event_time can_merge on_merge clear
penstock.datastream.window:NeverTrigger works
  works: on_element on_processing_time on_event_time on_merge clear
penstock.datastream.window:CountTumblingWindowAssigner works
  works: of assign_windows get_default_trigger is_event_time
  absent: get_window_serializer
penstock.datastream.window:CountSlidingWindowAssigner works
  works: of assign_windows get_default_trigger is_event_time
  absent: get_window_serializer
penstock.datastream.window:TumblingProcessingTimeWindows works
  works: of assign_windows get_default_trigger is_event_time
  absent: get_window_serializer
penstock.datastream.window:TumblingEventTimeWindows works
  works: of assign_windows get_default_trigger is_event_time
  absent: get_window_serializer
penstock.datastream.window:SlidingProcessingTimeWindows works
  works: of assign_windows get_default_trigger is_event_time
  absent: get_window_serializer
penstock.datastream.window:SlidingEventTimeWindows works
  works: of assign_windows get_default_trigger is_event_time
  absent: get_window_serializer
penstock.datastream.window:ProcessingTimeSessionWindows works
  works: with_gap with_dynamic_gap merge_windows assign_windows get_default_trigger
    is_event_time
  absent: get_window_serializer
penstock.datastream.window:EventTimeSessionWindows works
  works: with_gap with_dynamic_gap merge_windows assign_windows get_default_trigger
    is_event_time
  absent: get_window_serializer
penstock.datastream.window:DynamicProcessingTimeSessionWindows works
  works: with_dynamic_gap merge_windows assign_windows get_default_trigger is_event_time
  absent: get_window_serializer
penstock.datastream.window:DynamicEventTimeSessionWindows works
  works: with_dynamic_gap merge_windows assign_windows get_default_trigger is_event_time
  absent: get_window_serializer
penstock.datastream.window:GlobalWindows works
  works: assign_windows create get_default_trigger is_event_time
  absent: get_window_serializer

# Timers / time domain

penstock.datastream:TimerService works
  works: current_processing_time current_watermark register_processing_time_timer
    register_event_time_timer delete_processing_time_timer delete_event_time_timer
penstock.datastream:TimeDomain works
penstock.datastream:RuntimeExecutionMode works

# Watermarks

penstock.common:WatermarkStrategy works
  works: with_timestamp_assigner with_idleness for_monotonous_timestamps
    for_bounded_out_of_orderness no_watermarks
  accepted: with_watermark_alignment
penstock.common.watermark_strategy:TimestampAssigner works
  works: extract_timestamp
penstock.common:AssignerWithPeriodicWatermarksWrapper absent

# Side outputs

penstock.datastream:OutputTag works
  absent: get_java_output_tag

# Async I/O

penstock.datastream:AsyncDataStream works
  works: unordered_wait unordered_wait_with_retry ordered_wait ordered_wait_with_retry
penstock.datastream.async_retry_strategies:RetryPredicate works
  works: result_predicate exception_predicate
penstock.datastream.async_retry_strategies:NoRetryStrategy works
  works: can_retry get_backoff_time_millis get_retry_predicate
penstock.datastream.async_retry_strategies:FixedDelayRetryStrategy works
  works: can_retry get_backoff_time_millis get_retry_predicate
penstock.datastream.async_retry_strategies:ExponentialBackoffDelayRetryStrategy works
  works: can_retry get_backoff_time_millis get_retry_predicate

# Checkpoint config

penstock.datastream:CheckpointConfig works
  works: is_checkpointing_enabled get_checkpoint_interval set_checkpoint_interval
  accepted: get_checkpointing_mode set_checkpointing_mode get_checkpoint_timeout
    set_checkpoint_timeout get_min_pause_between_checkpoints
    set_min_pause_between_checkpoints get_max_concurrent_checkpoints
    set_max_concurrent_checkpoints is_fail_on_checkpointing_errors
    set_fail_on_checkpointing_errors get_tolerable_checkpoint_failure_number
    set_tolerable_checkpoint_failure_number set_externalized_checkpoint_retention
    is_externalized_checkpoints_enabled get_externalized_checkpoint_retention
    is_unaligned_checkpoints_enabled enable_unaligned_checkpoints
    disable_unaligned_checkpoints set_aligned_checkpoint_timeout
    get_aligned_checkpoint_timeout set_alignment_timeout get_alignment_timeout
    set_force_unaligned_checkpoints is_force_unaligned_checkpoints
penstock.datastream:CheckpointingMode works
penstock.datastream:ExternalizedCheckpointRetention works

# State backends / storage / slots

penstock.datastream:StateBackend accepted
penstock.datastream:HashMapStateBackend works
penstock.datastream:EmbeddedRocksDBStateBackend accepted
  accepted: set_db_storage_paths get_db_storage_paths is_incremental_checkpoints_enabled
    set_predefined_options get_predefined_options set_options get_options
    get_number_of_transfer_threads set_number_of_transfer_threads
penstock.datastream:PredefinedOptions accepted
penstock.datastream:CustomStateBackend accepted
penstock.datastream:CheckpointStorage accepted
penstock.datastream:JobManagerCheckpointStorage accepted
  accepted: get_checkpoint_path get_max_state_size get_savepoint_path
penstock.datastream:FileSystemCheckpointStorage accepted
  works: get_checkpoint_path get_savepoint_path
  accepted: get_min_file_size_threshold get_write_buffer_size
penstock.datastream:CustomCheckpointStorage absent
penstock.datastream:MemorySize accepted
  accepted: of_mebi_bytes get_bytes get_kibi_bytes get_mebi_bytes get_gibi_bytes
    get_tebi_bytes
  absent: get_java_memory_size
penstock.datastream:SlotSharingGroup accepted
  accepted: get_name get_managed_memory get_task_heap_memory get_task_off_heap_memory
    get_cpu_cores get_external_resources builder
  absent: get_java_slot_sharing_group
penstock.datastream:SlotSharingGroup.Builder accepted
  accepted: set_cpu_cores set_task_heap_memory set_task_heap_memory_mb
    set_task_off_heap_memory set_task_off_heap_memory_mb set_managed_memory
    set_managed_memory_mb set_external_resource build

# Types

penstock.common:TypeInformation works
  works: need_conversion to_internal_type from_internal_type
  absent: get_java_type_info
penstock.common.typeinfo:RowTypeInfo works
  works: get_field_names get_field_index get_field_types need_conversion to_internal_type
    from_internal_type
  absent: get_java_type_info
penstock.common.typeinfo:TupleTypeInfo works
  works: get_field_types need_conversion to_internal_type from_internal_type
  absent: get_java_type_info
penstock.common:Types works
  works: STRING BYTE BOOLEAN SHORT INT LONG FLOAT DOUBLE CHAR BIG_INT BIG_DEC INSTANT
    SQL_DATE SQL_TIME SQL_TIMESTAMP PICKLED_BYTE_ARRAY ROW ROW_NAMED TUPLE PRIMITIVE_ARRAY
    BASIC_ARRAY OBJECT_ARRAY MAP LIST

# Row, Time, Duration, Instant

penstock.common:RowKind works
  absent: to_j_row_kind
penstock.common:Row works
  works: as_dict get_row_kind set_row_kind set_field_names get_fields_by_names of_kind
penstock.common:Duration works
  works: of_days of_hours of_millis of_minutes of_nanos of_seconds
penstock.common:Instant works
  works: to_epoch_milli of_epoch_milli
penstock.common:Time works
  works: to_milliseconds milliseconds seconds minutes hours days

# Configuration / ExecutionConfig

penstock.common:Configuration works
  works: from_dict get_string set_string parse_list_value get_integer set_integer
    get_boolean set_boolean get_float set_float get_bytearray set_bytearray key_set
    add_all_to_dict add_all contains_key to_dict remove_config
penstock.common:ExecutionConfig accepted
  works: get_parallelism set_parallelism get_max_parallelism set_max_parallelism
    get_global_job_parameters set_global_job_parameters set_auto_watermark_interval
    get_auto_watermark_interval set_latency_tracking_interval get_latency_tracking_interval
    enable_object_reuse
    disable_object_reuse is_object_reuse_enabled
    enable_auto_generated_uids disable_auto_generated_uids has_auto_generated_uids_enabled
  accepted: enable_closure_cleaner disable_closure_cleaner is_closure_cleaner_enabled
    get_task_cancellation_interval
    set_task_cancellation_interval get_task_cancellation_timeout
    set_task_cancellation_timeout enable_force_kryo disable_force_kryo is_force_kryo_enabled
    enable_generic_types disable_generic_types has_generic_types_disabled
    enable_force_avro disable_force_avro is_force_avro_enabled get_default_kryo_serializer_classes
    get_registered_kryo_types get_registered_pojo_types is_use_snapshot_compression
    set_use_snapshot_compression

# Jobs

penstock.common:JobClient works
  works: get_job_id get_job_status cancel stop_with_savepoint trigger_savepoint
    get_accumulators get_job_execution_result
penstock.common:JobExecutionResult works
  works: get_job_id get_net_runtime get_accumulator_result get_all_accumulator_results
penstock.common:JobStatus works
  works: is_globally_terminal_state is_terminal_state
penstock.common:CompletableFuture works
  works: cancel cancelled done result exception
penstock.common:JobID works

# Restart strategies

penstock.common:RestartStrategyConfiguration works
  works: get_description
penstock.common:RestartStrategies works
  works: no_restart fall_back_restart fixed_delay_restart failure_rate_restart
penstock.common:RestartStrategies.NoRestartStrategyConfiguration works
penstock.common:RestartStrategies.FixedDelayRestartStrategyConfiguration works
  works: get_restart_attempts get_delay_between_attempts_interval
penstock.common:RestartStrategies.FailureRateRestartStrategyConfiguration works
  works: get_max_failure_rate get_failure_interval get_delay_between_attempts_interval
penstock.common:RestartStrategies.FallbackRestartStrategyConfiguration works

# Serialization

penstock.common:SerializationSchema works
penstock.common:DeserializationSchema works
penstock.common:SimpleStringSchema works
penstock.common:ByteArraySchema works
penstock.common:Encoder works
  works: simple_string_encoder
penstock.common.serialization:BulkWriterFactory absent
penstock.common.serialization:RowDataBulkWriterFactory absent
penstock.common.serialization:RowFieldExtractorSchema works

# Beyond PyFlink: operators of your own

penstock.datastream:OneInputStreamOperator works
  works: open close process_element process_watermark process_record_attributes end_input
    on_timer prepare_snapshot_pre_barrier get_operator_attributes
penstock.datastream:TwoInputStreamOperator works
  works: open close process_element1 process_element2 process_watermark
    process_record_attributes1 process_record_attributes2 end_input on_timer
    prepare_snapshot_pre_barrier get_operator_attributes
penstock.datastream:MultipleInputStreamOperator works
  works: open close get_inputs process_watermark process_record_attributes end_input on_timer
    prepare_snapshot_pre_barrier get_operator_attributes
penstock.datastream:Input works
  works: process_element process_record_attributes
penstock.datastream:AbstractInput works
  works: process_element process_record_attributes output
penstock.datastream:MultipleConnectedStreams works
  works: key_by transform
penstock.datastream:StreamOperatorFactory works
  works: create_stream_operator get_operator_attributes
penstock.datastream:SimpleOperatorFactory works
  works: of create_stream_operator get_operator_attributes
penstock.datastream.operators:StreamOperatorParameters works
  works: get_output get_runtime_context
penstock.datastream:ExternalSorter works
  works: add clear close
penstock.datastream:RecordAttributes works
  works: is_backlog EMPTY_RECORD_ATTRIBUTES
penstock.datastream:RecordAttributesBuilder works
  works: set_backlog build
penstock.datastream.operators:LatencyMarkerEvent works
  works: get_marked_time get_operator_id get_subtask_index
penstock.datastream:OperatorAttributes works
  works: is_output_stream_record_value_stored is_input_stream_record_stored
    is_internal_sorter_supported is_output_only_after_end_of_stream
penstock.datastream:OperatorAttributesBuilder works
  works: set_output_stream_record_value_stored set_input_stream_record_stored
    set_internal_sorter_supported set_output_only_after_end_of_stream build

# Beyond PyFlink: groups and pairs of two streams

penstock.datastream:CoGroupedStreams works
  works: where
penstock.api.streams.co_grouped_streams:CoGroupedKeys works
  works: window
penstock.api.streams.co_grouped_streams:CoGroupedWindows works
  works: trigger evictor allowed_lateness apply
penstock.datastream:JoinedStreams works
  works: where
penstock.api.streams.joined_streams:JoinedKeys works
  works: window
penstock.api.streams.joined_streams:JoinedWindows works
  works: trigger evictor allowed_lateness apply
penstock.api.streams.paired_streams:Where works
  works: equal_to
penstock.datastream:IntervalJoin works
  works: between
penstock.api.streams.interval_join:IntervalJoined works
  works: lower_bound_exclusive upper_bound_exclusive side_output_left_late_data
    side_output_right_late_data process
penstock.datastream:CoGroupFunction works
  works: co_group
penstock.datastream:JoinFunction works
  works: join
penstock.datastream:FlatJoinFunction works
  works: join
penstock.datastream:ProcessJoinFunction works
  works: process_element
penstock.datastream:ProcessJoinFunction.Context works
  works: get_left_timestamp get_right_timestamp get_timestamp output
penstock.datastream:TaggedUnion works
  works: is_one is_two get_one get_two

# Kafka

penstock.datastream.connectors.kafka:KafkaSource works
  works: builder
penstock.datastream.connectors.kafka:KafkaSourceBuilder works
  works: build set_bootstrap_servers set_group_id set_topics set_topic_pattern set_partitions
    set_starting_offsets set_unbounded set_bounded set_value_only_deserializer
    set_client_id_prefix set_property set_properties
penstock.datastream.connectors.kafka:KafkaTopicPartition works
penstock.datastream.connectors.kafka:KafkaOffsetResetStrategy works
penstock.datastream.connectors.kafka:KafkaOffsetsInitializer works
  works: committed_offsets timestamp earliest latest offsets
penstock.datastream.connectors.kafka:KafkaSink works
  works: builder
  absent: get_transformer
penstock.datastream.connectors.kafka:KafkaSinkBuilder works
  works: build set_bootstrap_servers set_delivery_guarantee set_transactional_id_prefix
    set_record_serializer set_property
penstock.datastream.connectors.kafka:KafkaRecordSerializationSchema works
  works: builder
penstock.datastream.connectors.kafka:KafkaRecordSerializationSchemaBuilder works
  works: build set_topic set_topic_selector set_key_serialization_schema
    set_value_serialization_schema
penstock.datastream.connectors.kafka:KafkaTopicSelector works
  works: apply
penstock.datastream.connectors.kafka:FlinkKafkaConsumer works
  works: set_commit_offsets_on_checkpoints set_start_from_earliest set_start_from_latest
    set_start_from_timestamp set_start_from_group_offsets get_produced_type
  accepted: disable_filter_restored_partitions_with_subscribed_topics
penstock.datastream.connectors.kafka:FlinkKafkaProducer works
  works: set_log_failures_only set_write_timestamp_to_kafka
  accepted: set_flush_on_checkpoint ignore_failures_after_transaction_timeout
penstock.datastream.connectors.kafka:Semantic works

# JDBC

penstock.datastream.connectors.jdbc:JdbcSink works
  works: sink
penstock.datastream.connectors.jdbc:JdbcConnectionOptions works
  works: get_db_url get_driver_name get_user_name get_password
penstock.datastream.connectors.jdbc:JdbcConnectionOptions.JdbcConnectionOptionsBuilder works
  works: with_url with_user_name with_password build
  accepted: with_driver_name
penstock.datastream.connectors.jdbc:JdbcExecutionOptions works
  works: builder get_batch_interval_ms get_batch_size get_max_retries
penstock.datastream.connectors.jdbc:JdbcExecutionOptions.Builder works
  works: build
  accepted: with_batch_interval_ms with_batch_size with_max_retries

# Metrics

penstock.metrics:MetricGroup works
  works: add_group counter gauge meter distribution
penstock.metrics:Metric works
penstock.metrics:Counter works
  works: inc dec get_count
penstock.metrics:Meter works
  works: mark_event get_count
penstock.metrics:Distribution works
  works: update
"""
"""The table; `listing` reads it."""
