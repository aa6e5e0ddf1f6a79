-- Bids for some auctions.
SELECT auction, price FROM bid WHERE MOD(auction, 7) = 0
