"""Writes files of Parquet as pyarrow and DuckDB do, with the values of values.csv, into a directory."""
import datetime
import decimal
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

D, T, M, N = datetime.date, datetime.time, datetime.datetime, decimal.Decimal
table = pa.table({
    "id": pa.array([1, 2, 3, None], pa.int64()),
    "u8": pa.array([1, 255, None, 0], pa.uint8()),
    "u32": pa.array([1, 4294967295, None, 0], pa.uint32()),
    "u64": pa.array([1, 18446744073709551615, None, 0], pa.uint64()),
    "f32": pa.array([1.1, float("inf"), float("nan"), 0], pa.float32()),
    "f64": pa.array([1.1, 1e300, None, -0.0], pa.float64()),
    "b": pa.array([True, False, None, True]),
    "s": pa.array(["a", 'é,"x"', None, ""]),
    "bin": pa.array([b"\x00\xff", b"", None, b"a"]),
    "d": pa.array([D(2026, 1, 2), D(1969, 12, 31), None, D(1, 1, 1)]),
    "t": pa.array([T(1, 2, 3, 4), None, T(0, 0, 0), T(23, 59, 59)], pa.time64("us")),
    "ts": pa.array([M(2026, 1, 2, 3, 4, 5, 678), None, M(1960, 1, 1), M(2261, 12, 31)], pa.timestamp("us")),
    "dec": pa.array([N("1.50"), N("-0.01"), None, N("12345678.90")], pa.decimal128(10, 2)),
    "dec38": pa.array([N("1.5"), N("-123456789012345678901234567.8901234567"), None, N("0")], pa.decimal128(38, 10)),
    "l": pa.array([[1, 2, None], [], None, [3]], pa.list_(pa.int32())),
    "ls": pa.array([["a b", "", None, "null"], [], None, ['"\\']], pa.list_(pa.string())),
    "st": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "<&>"}, {"a": 2, "b": None}],
                   pa.struct([("a", pa.int32()), ("b", pa.string())])),
    "m": pa.array([[("k", 1), ("j", None)], [], None, [("z", 3)]], pa.map_(pa.string(), pa.int32())),
    "lst": pa.array([[{"a": [1, 2]}, {"a": None}], [], None, [None, {"a": []}]],
                    pa.list_(pa.struct([("a", pa.list_(pa.int32()))]))),
})
delta = {
    "id": "DELTA_BINARY_PACKED", "u32": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY", "bin": "DELTA_LENGTH_BYTE_ARRAY",
    "f64": "BYTE_STREAM_SPLIT", "f32": "BYTE_STREAM_SPLIT",
}
for name, options in {
    "snappy": {"compression": "snappy"},
    "zstd": {"compression": "zstd", "data_page_version": "2.0", "use_dictionary": False},
    "gzip": {"compression": "gzip", "row_group_size": 3},
    "delta": {"compression": "lz4", "column_encoding": delta, "use_dictionary": False},
    "int96": {"compression": "none", "use_deprecated_int96_timestamps": True, "version": "1.0"},
}.items():
    columns = table.drop_columns(["u32", "u64"]) if name == "int96" else table
    pq.write_table(columns, f"{sys.argv[1]}/{name}.parquet", write_statistics=False, store_schema=False, **options)
duckdb.sql(f"COPY (SELECT * FROM '{sys.argv[1]}/snappy.parquet') TO '{sys.argv[1]}/duckdb.parquet'")
