-- The directories of the address that each bid came by.
SELECT auction, bidder, price, channel,
  SPLIT_INDEX(url, '/', 3) AS first_dir, SPLIT_INDEX(url, '/', 4) AS second_dir, SPLIT_INDEX(url, '/', 5) AS third_dir
FROM bid
