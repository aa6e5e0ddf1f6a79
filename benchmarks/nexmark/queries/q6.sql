-- The mean price of the last ten auctions of each seller that were won.
SELECT seller, AVG(price) OVER (
  PARTITION BY seller ORDER BY expires, id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW
) AS mean_price
FROM (
  SELECT a.id, a.seller, a.expires, b.price, ROW_NUMBER() OVER (
    PARTITION BY a.id ORDER BY b.price DESC, b.dateTime, b.bidder
  ) AS n
  FROM auction AS a JOIN bid AS b ON a.id = b.auction
  WHERE b.dateTime BETWEEN a.dateTime AND a.expires
) AS won
WHERE n = 1
