WITH windowed AS (SELECT *, time_bucket(INTERVAL 10 SECOND, dateTime, TIMESTAMP '1970-01-01') AS window_start FROM bid)
SELECT auction, price, bidder, dateTime, extra
FROM windowed AS b
WHERE price = (SELECT MAX(price) FROM windowed AS m WHERE m.window_start = b.window_start)
