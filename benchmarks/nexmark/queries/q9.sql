-- The bid that wins each auction.
SELECT id, itemName, seller, category, expires, bidder, price, bid_time
FROM (
  SELECT a.id, a.itemName, a.seller, a.category, a.expires, b.bidder, b.price, b.dateTime AS bid_time,
    ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.dateTime, b.bidder) AS n
  FROM auction AS a JOIN bid AS b ON a.id = b.auction
  WHERE b.dateTime BETWEEN a.dateTime AND a.expires
) AS ranked
WHERE n = 1
