-- Orders that count.
SELECT id, customer, item, cents FROM orders WHERE status = 'paid'
