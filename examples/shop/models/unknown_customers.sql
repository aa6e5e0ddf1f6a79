-- A test of the data: orders of customers that are not there. It should have no rows, and has some.
SELECT o.id, o.customer FROM paid_orders AS o
WHERE NOT EXISTS (SELECT * FROM customers AS c WHERE c.id = o.customer)
