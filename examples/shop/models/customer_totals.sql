-- What each customer has bought; those without an order are there, too.
SELECT c.id, c.name, c.city, COUNT(o.id) AS orders, COALESCE(SUM(o.cents), 0) AS cents
FROM customers AS c LEFT JOIN paid_orders AS o ON o.customer = c.id
GROUP BY c.id, c.name, c.city
