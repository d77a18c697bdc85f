-- Twelve tables of a shop with :customers customers, each in one of a hundred regions, and their indexes.
SET client_min_messages = warning;
CREATE TABLE products (id int PRIMARY KEY, title text NOT NULL);
CREATE TABLE customers (id int PRIMARY KEY, region int NOT NULL, name text NOT NULL, email text NOT NULL);
CREATE TABLE addresses (id int PRIMARY KEY, customer int NOT NULL, street text NOT NULL);
CREATE TABLE orders (id int PRIMARY KEY, customer int NOT NULL, created timestamptz NOT NULL, note text);
CREATE TABLE items (id int PRIMARY KEY, "order" int NOT NULL, product int NOT NULL, price numeric(10, 2) NOT NULL);
CREATE TABLE payments (id int PRIMARY KEY, "order" int NOT NULL, iban text NOT NULL);
CREATE TABLE refunds (id int PRIMARY KEY, payment int NOT NULL, reason text NOT NULL);
CREATE TABLE shipments (id int PRIMARY KEY, "order" int NOT NULL, code text NOT NULL);
CREATE TABLE events (id int PRIMARY KEY, shipment int NOT NULL, at timestamptz NOT NULL, place text NOT NULL);
CREATE TABLE reviews (id int PRIMARY KEY, customer int NOT NULL, product int NOT NULL, body text NOT NULL);
CREATE TABLE carts (id int PRIMARY KEY, customer int NOT NULL, created timestamptz NOT NULL);
CREATE TABLE cart_items (id int PRIMARY KEY, cart int NOT NULL, product int NOT NULL);

INSERT INTO products SELECT i, 'product ' || md5(i::text) FROM generate_series(1, 1000) i;
INSERT INTO customers SELECT i, i % 100, 'name ' || md5(i::text), 'user' || i || '@mail.example.net'
	FROM generate_series(1, :customers) i;
INSERT INTO addresses SELECT i, 1 + i % :customers, md5(i::text) FROM generate_series(1, 2 * :customers) i;
INSERT INTO orders SELECT i, 1 + i % :customers, timestamptz '2024-01-01' + make_interval(mins => i % 500000), md5(i::text)
	FROM generate_series(1, 3 * :customers) i;
INSERT INTO items SELECT i, 1 + i % (3 * :customers), 1 + i % 1000, i % 100000 / 100.0
	FROM generate_series(1, 9 * :customers) i;
INSERT INTO payments SELECT i, i, 'DE' || md5(i::text) FROM generate_series(1, 3 * :customers) i;
INSERT INTO refunds SELECT i, 1 + i * 7 % (3 * :customers), md5(i::text) FROM generate_series(1, 3 * :customers / 10) i;
INSERT INTO shipments SELECT i, i, md5(i::text) FROM generate_series(1, 3 * :customers) i;
INSERT INTO events SELECT i, 1 + i % (3 * :customers), timestamptz '2024-01-01' + make_interval(mins => i % 500000),
	'place ' || i % 5000 FROM generate_series(1, 6 * :customers) i;
INSERT INTO reviews SELECT i, i, 1 + i % 1000, md5(i::text) || md5((-i)::text) FROM generate_series(1, :customers) i;
INSERT INTO carts SELECT i, i, timestamptz '2024-01-01' + make_interval(mins => i % 500000)
	FROM generate_series(1, :customers) i;
INSERT INTO cart_items SELECT i, 1 + i % :customers, 1 + i % 1000 FROM generate_series(1, 2 * :customers) i;

CREATE INDEX ON customers (region);
CREATE INDEX ON addresses (customer);
CREATE INDEX ON orders (customer);
CREATE INDEX ON items ("order");
CREATE INDEX ON items (product);
CREATE INDEX ON payments ("order");
CREATE INDEX ON refunds (payment);
CREATE INDEX ON shipments ("order");
CREATE INDEX ON events (shipment);
CREATE INDEX ON reviews (customer);
CREATE INDEX ON carts (customer);
CREATE INDEX ON cart_items (cart);
ALTER TABLE addresses ADD FOREIGN KEY (customer) REFERENCES customers;
ALTER TABLE orders ADD FOREIGN KEY (customer) REFERENCES customers;
ALTER TABLE items ADD FOREIGN KEY ("order") REFERENCES orders, ADD FOREIGN KEY (product) REFERENCES products;
ALTER TABLE payments ADD FOREIGN KEY ("order") REFERENCES orders;
ALTER TABLE refunds ADD FOREIGN KEY (payment) REFERENCES payments;
ALTER TABLE shipments ADD FOREIGN KEY ("order") REFERENCES orders;
ALTER TABLE events ADD FOREIGN KEY (shipment) REFERENCES shipments;
ALTER TABLE reviews ADD FOREIGN KEY (customer) REFERENCES customers, ADD FOREIGN KEY (product) REFERENCES products;
ALTER TABLE carts ADD FOREIGN KEY (customer) REFERENCES customers;
ALTER TABLE cart_items ADD FOREIGN KEY (cart) REFERENCES carts, ADD FOREIGN KEY (product) REFERENCES products;
VACUUM (FREEZE, ANALYZE);
CHECKPOINT;
