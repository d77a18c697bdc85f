CREATE TABLE todos (id bigint PRIMARY KEY, title text NOT NULL, note text NOT NULL);
INSERT INTO todos
SELECT
	i,
	'write to ' || w[1 + i * 31 % 8] || ' about the ' || w[1 + i / 7 % 8],
	'before the ' || w[1 + i * 13 % 8] || ' comes, and again after ' || i * 7919 % 1009 || ' days'
FROM
	generate_series(1, :rows) AS i,
	(SELECT ARRAY['river', 'stone', 'letter', 'garden', 'window', 'copper', 'signal', 'harbour'] AS w) AS words;
VACUUM (FREEZE, ANALYZE) todos;
