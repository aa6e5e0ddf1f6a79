-- The same of each channel, with the last minute in which there was a bid.
SELECT channel, DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS on_day,
  MAX(DATE_FORMAT(dateTime, 'HH:mm')) AS last_minute,
  COUNT(*) AS bids,
  COUNT(*) FILTER (WHERE price < 10000) AS cheap_bids,
  COUNT(DISTINCT bidder) AS bidders,
  COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS dear_auctions
FROM bid
GROUP BY channel, DATE_FORMAT(dateTime, 'yyyy-MM-dd')
