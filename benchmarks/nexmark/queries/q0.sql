-- Every bid as it is.
SELECT auction, bidder, price, dateTime, extra FROM bid
