-- The script of the proposal CodedRowData as it is, with the options of its connectors filled in.
--
--   penstock sql examples/coded_join_seed.sql -D table.exec.enable-coded-rowdata=true
--
-- The proposal leaves names out: what its query needs beside them is marked `filled in`. That is the
-- column `o`, the key `join_id` of both views, and what it has dots for.
CREATE FUNCTION binlogParser AS 'binlog_functions.binlog_parser';
CREATE FUNCTION jsonString as 'binlog_functions.json_value';
CREATE FUNCTION jsonParseField AS 'binlog_functions.json_value';
CREATE FUNCTION BLINK_JSON_VALUE AS 'binlog_functions.json_value';

CREATE TABLE `source_refund_order` (
  `messageKey`  VARBINARY,
  `message`  VARBINARY,
  `topic`  VARCHAR METADATA VIRTUAL,
  `partition`  INTEGER METADATA VIRTUAL,
  `offset`  BIGINT METADATA VIRTUAL
) WITH (
  'connector' = 'kafka',
  'topic' = 'refund_order',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'key.format' = 'raw',
  'key.fields' = 'messageKey',
  'value.format' = 'raw',
  'value.fields-include' = 'EXCEPT_KEY'
);

CREATE VIEW dw_ord_refund_order AS
SELECT
   BLINK_JSON_VALUE(data, '$.a') AS a,
   BLINK_JSON_VALUE(data, '$.b') AS b,
   BLINK_JSON_VALUE(data, '$.c') AS c,
   BLINK_JSON_VALUE(data, '$.d') AS d,
   BLINK_JSON_VALUE(data, '$.e') AS e,
   BLINK_JSON_VALUE(data, '$.v') AS v,
   BLINK_JSON_VALUE(data, '$.a') AS a,
   BLINK_JSON_VALUE(data, '$.f') AS f,
   BLINK_JSON_VALUE(data, '$.g') AS g,
   BLINK_JSON_VALUE(data, '$.h') AS h,
   BLINK_JSON_VALUE(data, '$.i') AS i,
   BLINK_JSON_VALUE(data, '$.j') AS j,
   BLINK_JSON_VALUE(data, '$.k') AS k,
   BLINK_JSON_VALUE(data, '$.l') AS l,
   BLINK_JSON_VALUE(data, '$.m') AS m,
   BLINK_JSON_VALUE(data, '$.n') AS n,
   BLINK_JSON_VALUE(data, '$.o') AS o,
   BLINK_JSON_VALUE(data, '$.p') AS p,
   BLINK_JSON_VALUE(data, '$.q') AS q,
   BLINK_JSON_VALUE(data, '$.r') AS r,
   BLINK_JSON_VALUE(data, '$.s') AS s,
   BLINK_JSON_VALUE(data, '$.join_id') AS join_id, -- filled in
  `offset` as `offset`
from source_refund_order ,
  LATERAL TABLE (binlogParser (`message`)) as tmp (
    data,
    old_data,
    dts_operation_flag,
    dts_db_name,
    dts_table_name,
    dts_before_flag,
    dts_after_flag
  )where dts_operation_flag <>'D';


CREATE TABLE `source_refund_money` (
  `messageKey`  VARBINARY,
  `message`  VARBINARY,
  `o`  TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, -- filled in
  `topic`  VARCHAR METADATA VIRTUAL,
  `partition`  INTEGER METADATA VIRTUAL,
  `offset`  BIGINT METADATA VIRTUAL
) WITH (
  'connector' = 'kafka',
  'topic' = 'refund_money',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'key.format' = 'raw',
  'key.fields' = 'messageKey',
  'value.format' = 'raw',
  'value.fields-include' = 'EXCEPT_KEY'
);

CREATE VIEW dw_ord_refund_money AS
SELECT
   BLINK_JSON_VALUE(data, 'a') AS a,
   BLINK_JSON_VALUE(data, '$.b') AS b,
   BLINK_JSON_VALUE(data, '$.c') AS c,
   BLINK_JSON_VALUE(data, '$.d') AS d,
   BLINK_JSON_VALUE(data, '$.e') AS e,
   BLINK_JSON_VALUE(data, '$.f') AS f,
   BLINK_JSON_VALUE(data, '$.g') AS g,
   BLINK_JSON_VALUE(data, '$.h') AS h,
   BLINK_JSON_VALUE(data, '$.i') AS i,
   BLINK_JSON_VALUE(data, '$.j') AS j,
   BLINK_JSON_VALUE(data, '$.k') AS k,
   BLINK_JSON_VALUE(data, '$.l') AS l,
   BLINK_JSON_VALUE(old_data, '$.m') AS m,
   BLINK_JSON_VALUE(old_data, '$.n') AS n,
   BLINK_JSON_VALUE(data, '$.join_id') AS join_id, -- filled in
  o as o,
  `offset` as `refund_money_offset`
from source_refund_money ,
  LATERAL TABLE (binlogParser (`message`)) as tmp (
    data,
    old_data,
    dts_operation_flag,
    dts_db_name,
    dts_table_name,
    dts_before_flag,
    dts_after_flag
  )where dts_operation_flag <>'D';

create view refund_order_money_view AS 
select *
from dw_ord_refund_order a
left join dw_ord_refund_money b 
on a.join_id=b.join_id;


CREATE TABLE `blackholesink` (
  a VARCHAR, b VARCHAR, c VARCHAR, d VARCHAR, e VARCHAR, v VARCHAR, a0 VARCHAR, f VARCHAR, g VARCHAR, h
  VARCHAR, i VARCHAR, j VARCHAR, k VARCHAR, l VARCHAR, m VARCHAR, n VARCHAR, o VARCHAR, p VARCHAR, q VARCHAR,
  r VARCHAR, s VARCHAR, join_id VARCHAR, `offset` BIGINT, a1 VARCHAR, b0 VARCHAR, c0 VARCHAR, d0 VARCHAR, e0
  VARCHAR, f0 VARCHAR, g0 VARCHAR, h0 VARCHAR, i0 VARCHAR, j0 VARCHAR, k0 VARCHAR, l0 VARCHAR, m0 VARCHAR, n0
  VARCHAR, join_id0 VARCHAR, o0 TIMESTAMP_LTZ(3), refund_money_offset BIGINT -- filled in
) WITH (
'connector' = 'blackhole'

);

insert into blackholesink
select 
* -- filled in
  from refund_order_money_view;
