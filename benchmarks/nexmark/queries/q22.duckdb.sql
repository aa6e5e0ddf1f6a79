SELECT auction, bidder, price, channel,
  split_part(url, '/', 4) AS first_dir, split_part(url, '/', 5) AS second_dir, split_part(url, '/', 6) AS third_dir
FROM bid
