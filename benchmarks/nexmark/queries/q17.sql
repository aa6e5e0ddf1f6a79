-- Statistics of the bids for each auction and day.
SELECT auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd') AS on_day,
  COUNT(*) AS bids,
  COUNT(*) FILTER (WHERE price < 10000) AS cheap_bids,
  COUNT(*) FILTER (WHERE price >= 1000000) AS dear_bids,
  MIN(price) AS least, MAX(price) AS most, AVG(price) AS mean, SUM(price) AS total
FROM bid
GROUP BY auction, DATE_FORMAT(dateTime, 'yyyy-MM-dd')
