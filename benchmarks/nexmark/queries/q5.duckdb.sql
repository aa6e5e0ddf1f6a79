WITH windowed AS (
  SELECT auction,
    time_bucket(INTERVAL 2 SECOND, dateTime, TIMESTAMP '1970-01-01') - INTERVAL 2 SECOND * back AS window_start
  FROM bid, range(5) AS steps(back)
),
counts AS (SELECT window_start, auction, COUNT(*) AS bids FROM windowed GROUP BY window_start, auction)
SELECT window_start, auction, bids
FROM counts AS c
WHERE bids = (SELECT MAX(bids) FROM counts AS m WHERE m.window_start = c.window_start)
