SELECT channel, strftime(dateTime, '%Y-%m-%d') AS on_day,
  MAX(strftime(dateTime, '%H:%M')) AS last_minute,
  COUNT(*) AS bids,
  COUNT(*) FILTER (WHERE price < 10000) AS cheap_bids,
  COUNT(DISTINCT bidder) AS bidders,
  COUNT(DISTINCT auction) FILTER (WHERE price >= 1000000) AS dear_auctions
FROM bid
GROUP BY channel, strftime(dateTime, '%Y-%m-%d')
