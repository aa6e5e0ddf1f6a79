-- The ten highest bids for each auction, with their places.
SELECT auction, bidder, price, dateTime, n
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, dateTime) AS n FROM bid
) AS ranked
WHERE n <= 10
