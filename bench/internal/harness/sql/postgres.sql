SELECT
	i AS id,
	(i * 7919 % 1000003)::int AS customer,
	w[1 + i * 31 % 16] || ' ' || w[1 + i * 37 % 16] || ', ' || w[1 + i / 7 % 16] || ' "' || w[1 + i / 11 % 16]
		|| '" ' || md5(i::text) AS title,
	((i * 104729 % 10000019)::numeric / 100)::numeric(12, 2) AS amount,
	timestamptz '2020-01-01 00:00:00+00'
		+ make_interval(secs => (i * 1299709 % 157680000) + (i % 1000) / 1000.0) AS created,
	i % 3 = 0 AS done,
	jsonb_build_object('tag', w[1 + i % 16], 'n', i % 977) AS attributes,
	CASE WHEN i % 4 > 0 THEN w[1 + i * 13 % 16] || ' ' || w[1 + i * 17 % 16] END AS note
FROM
	(SELECT generate_series(1, :rows)::bigint AS i) AS numbers,
	(SELECT ARRAY['river', 'stone', 'letter', 'garden', 'window', 'copper', 'signal', 'harbour', 'winter', 'market',
		'bridge', 'paper', 'engine', 'forest', 'island', 'candle'] AS w) AS words
