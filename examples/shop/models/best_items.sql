-- The dearest paid order of each item.
SELECT item, id, cents FROM (
  SELECT item, id, cents, ROW_NUMBER() OVER (PARTITION BY item ORDER BY cents DESC) AS n FROM paid_orders
) WHERE n = 1
