"""Has DuckDB look values up in a file of Parquet with bloom filters: those of a file of JSON lines, which has the text of each cell, and others."""
import json
import re
import sys

import duckdb

file, lines, kinds = sys.argv[1], sys.argv[2], sys.argv[3].split(" ")
with open(lines, encoding="utf-8") as f:
    rows = [json.loads(line) for line in f]
names = duckdb.sql(f"SELECT * FROM '{file}' LIMIT 0").columns
types = duckdb.sql(f"SELECT * FROM '{file}' LIMIT 0").types
filtered = {m[0] for m in duckdb.sql(
    f"SELECT DISTINCT path_in_schema FROM parquet_metadata('{file}') WHERE bloom_filter_offset IS NOT NULL").fetchall()}
quoted = lambda text: "'" + text.replace("'", "''") + "'"
duckdb.sql("SET TimeZone = 'UTC'")
skipped, probed = 0, 0
for i, (name, kind) in enumerate(zip(names, types)):
    if name not in filtered:
        continue
    for row in range(0, len(rows), max(1, len(rows) // 20)):
        text = rows[row][i]
        if text is None:
            continue
        same = [r for r in rows if r[i] == text]
        value = f"from_hex('{text[2:]}')" if kinds[i] == "bytes" else f"CAST({quoted(text)} AS {kind})"
        found = duckdb.sql(f'SELECT count(*) FROM \'{file}\' WHERE "{name}" = {value}').fetchall()[0][0]
        if found < len(same):
            sys.exit(f"column {name} ({kind}): {found} rows have {text!r}, want {len(same)}")
        probe = duckdb.sql(f"SELECT bloom_filter_excludes FROM parquet_bloom_probe('{file}', {quoted(name)}, {value})")
        excluded = [one[0] for one in probe.fetchall()]
        probed, skipped = probed + len(excluded), skipped + sum(excluded)
        if all(excluded):
            sys.exit(f"column {name} ({kind}): the filters of all row groups exclude {text!r}")
print(f"{probed} filters were asked, and {skipped} of them excluded a value")
groups = duckdb.sql(f"SELECT num_row_groups FROM parquet_file_metadata('{file}')").fetchall()[0][0]
if groups > 1 and not skipped:
    sys.exit("no filter excludes anything")
