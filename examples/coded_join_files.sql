-- The job of coded_join.sql on files of the same records:
--
--   python -m benchmarks.inputs.binlog binlog && penstock sql examples/coded_join_files.sql
CREATE FUNCTION parse_order AS 'binlog_functions.parse_order' LANGUAGE PYTHON;
CREATE FUNCTION parse_refund AS 'binlog_functions.parse_refund' LANGUAGE PYTHON;
CREATE FUNCTION binlog_offset AS 'binlog_functions.binlog_offset' LANGUAGE PYTHON;

CREATE TABLE orders_log (
  message BYTES,
  `offset` AS binlog_offset(message)
) WITH (
  'connector' = 'filesystem',
  'path' = 'binlog/orders',
  'source.monitor-interval' = '1 s',
  'format' = 'raw'
);

CREATE TABLE refunds_log (
  message BYTES,
  `offset` AS binlog_offset(message)
) WITH (
  'connector' = 'filesystem',
  'path' = 'binlog/refunds',
  'source.monitor-interval' = '1 s',
  'format' = 'raw'
);

-- From here on the scripts for topics and for files are the same.
CREATE VIEW orders AS
SELECT
  order_id, buyer_id, seller_id, shop_id, status, pay_status, channel, currency, amount, discount, postage,
  created_at, paid_at, province, city, district, zip_code, receiver, phone_tail, warehouse, device, `offset`
FROM orders_log, LATERAL TABLE(parse_order(message))
WHERE operation <> 'D';

CREATE VIEW refunds AS
SELECT
  refund_id, order_id, reason, status, type, amount, operator_id, created_at, updated_at, channel, stage,
  remark_code, old_status, old_stage, version, `offset`
FROM refunds_log, LATERAL TABLE(parse_refund(message))
WHERE operation <> 'D';

CREATE TABLE joined (
  order_id STRING, buyer_id STRING, seller_id STRING, shop_id STRING, status STRING, pay_status STRING,
  channel STRING, currency STRING, amount STRING, discount STRING, postage STRING, created_at STRING, paid_at
  STRING, province STRING, city STRING, district STRING, zip_code STRING, receiver STRING, phone_tail STRING,
  warehouse STRING, device STRING,
  `offset` BIGINT,
  refund_id STRING, refund_order_id STRING, refund_reason STRING, refund_status STRING, refund_type STRING,
  refund_amount STRING, refund_operator_id STRING, refund_created_at STRING, refund_updated_at STRING,
  refund_channel STRING, refund_stage STRING, refund_remark_code STRING, old_status STRING, old_stage STRING,
  version BIGINT, refund_offset BIGINT
) WITH ('connector' = 'blackhole');

INSERT INTO joined
SELECT o.*, r.* FROM orders AS o LEFT JOIN refunds AS r ON o.order_id = r.order_id;
