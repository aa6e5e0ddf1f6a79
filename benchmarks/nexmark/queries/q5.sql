-- The auctions with most bids of the last ten seconds, every two seconds.
WITH counts AS (
  SELECT window_start, window_end, auction, COUNT(*) AS bids
  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY window_start, window_end, auction
)
SELECT c.window_start, c.auction, c.bids
FROM counts AS c JOIN (
  SELECT window_start, window_end, MAX(bids) AS most FROM counts GROUP BY window_start, window_end
) AS m ON c.window_start = m.window_start AND c.window_end = m.window_end AND c.bids = m.most
