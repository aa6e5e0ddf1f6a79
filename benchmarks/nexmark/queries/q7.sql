-- The highest bids of every ten seconds.
SELECT b.auction, b.price, b.bidder, b.dateTime, b.extra
FROM bid AS b JOIN (
  SELECT window_start, window_end, MAX(price) AS most
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(dateTime), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end
) AS m ON b.price = m.most AND b.dateTime >= m.window_start AND b.dateTime < m.window_end
