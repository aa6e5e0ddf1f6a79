SELECT auction, strftime(dateTime, '%Y-%m-%d') AS on_day,
  COUNT(*) AS bids,
  COUNT(*) FILTER (WHERE price < 10000) AS cheap_bids,
  COUNT(*) FILTER (WHERE price >= 1000000) AS dear_bids,
  MIN(price) AS least, MAX(price) AS most, CAST(SUM(price) AS BIGINT) // COUNT(*) AS mean, SUM(price) AS total
FROM bid
GROUP BY auction, strftime(dateTime, '%Y-%m-%d')
