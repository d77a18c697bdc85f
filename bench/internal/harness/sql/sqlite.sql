PRAGMA journal_mode = off;
CREATE TABLE words (n INTEGER PRIMARY KEY, word TEXT);
INSERT INTO words VALUES (0, 'river'), (1, 'stone'), (2, 'letter'), (3, 'garden'), (4, 'window'), (5, 'copper'),
	(6, 'signal'), (7, 'harbour');
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, title TEXT, amount REAL, created TEXT, done INTEGER,
	attributes TEXT, note TEXT);
WITH RECURSIVE numbers(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM numbers LIMIT :rows)
INSERT INTO orders
SELECT
	i,
	i * 7919 % 1000003,
	a.word || ' ' || b.word || ', "' || a.word || '" ' || printf('%016x%016x', i * 2654435761, i * 40503),
	(i * 104729 % 10000019) / 100.0,
	strftime('%Y-%m-%d %H:%M:%S', 1577836800 + i * 1299709 % 157680000, 'unixepoch'),
	i % 3 = 0,
	'{"tag": "' || b.word || '", "n": ' || i % 977 || '}',
	CASE WHEN i % 4 > 0 THEN b.word || ' ' || a.word END
FROM numbers JOIN words AS a ON a.n = i * 31 % 8 JOIN words AS b ON b.n = i / 7 % 8;
