-- Dear bids, the part of the day they come in, and how often a letter is in a text.
SELECT auction, bidder, 0.908 * price AS price,
  CASE
    WHEN HOUR(dateTime) BETWEEN 8 AND 18 THEN 'day'
    WHEN HOUR(dateTime) <= 6 OR HOUR(dateTime) >= 20 THEN 'night'
    ELSE 'other'
  END AS part_of_day,
  dateTime, CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS letters
FROM bid
WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000
