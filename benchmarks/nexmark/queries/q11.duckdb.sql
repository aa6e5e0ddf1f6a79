WITH marked AS (
  SELECT bidder, dateTime, CASE WHEN dateTime - LAG(dateTime) OVER (PARTITION BY bidder ORDER BY dateTime)
    < INTERVAL 10 SECOND THEN 0 ELSE 1 END AS is_first
  FROM bid
),
numbered AS (
  SELECT bidder, dateTime, SUM(is_first) OVER (PARTITION BY bidder ORDER BY dateTime ROWS UNBOUNDED PRECEDING) AS n
  FROM marked
)
SELECT bidder, COUNT(*) AS bids, MIN(dateTime) AS window_start, MAX(dateTime) + INTERVAL 10 SECOND AS window_end
FROM numbered GROUP BY bidder, n
