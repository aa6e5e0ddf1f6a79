-- The last bid of each bidder for each auction.
SELECT auction, bidder, price, channel, dateTime
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC) AS n FROM bid
) AS ranked
WHERE n = 1
