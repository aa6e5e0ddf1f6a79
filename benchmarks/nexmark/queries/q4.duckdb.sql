SELECT category, CAST(SUM(final) AS BIGINT) // COUNT(*) AS mean_final
FROM (
  SELECT a.category, MAX(b.price) AS final
  FROM auction AS a JOIN bid AS b ON a.id = b.auction
  WHERE b.dateTime BETWEEN a.dateTime AND a.expires
  GROUP BY a.id, a.category
) AS finals
GROUP BY category
