SELECT DISTINCT p.id, p.name, time_bucket(INTERVAL 10 SECOND, p.dateTime, TIMESTAMP '1970-01-01') AS window_start
FROM person AS p JOIN auction AS a ON p.id = a.seller
  AND time_bucket(INTERVAL 10 SECOND, p.dateTime, TIMESTAMP '1970-01-01')
    = time_bucket(INTERVAL 10 SECOND, a.dateTime, TIMESTAMP '1970-01-01')
