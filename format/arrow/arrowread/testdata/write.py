"""Writes files and streams of Arrow as pyarrow, Polars and DuckDB do, with the values of values.csv, into a directory."""
import datetime
import decimal
import sys
import uuid

import duckdb
import polars
import pyarrow as pa

D, T, M, N = datetime.date, datetime.time, datetime.datetime, decimal.Decimal
S = datetime.timedelta
keys = pa.array(["a", 'é,"x"', "a long text, behind its view"])
table = pa.table({
    "i8": pa.array([1, -128, None, 127], pa.int8()),
    "i64": pa.array([1, -2**63, None, 2**63 - 1]),
    "u8": pa.array([1, 255, None, 0], pa.uint8()),
    "u32": pa.array([1, 4294967295, None, 0], pa.uint32()),
    "u64": pa.array([1, 18446744073709551615, None, 0], pa.uint64()),
    "f16": pa.array([1.5, float("-inf"), float("nan"), None], pa.float16()),
    "f32": pa.array([1.1, float("inf"), float("nan"), 0], pa.float32()),
    "f64": pa.array([1.1, 1e300, None, -0.0]),
    "b": pa.array([True, False, None, True]),
    "s": pa.array(["a", 'é,"x"', None, ""]),
    "large": pa.array(["a", 'é,"x"', None, ""], pa.large_string()),
    "view": pa.array(["short", "a long text, behind its view", None, ""], pa.string_view()),
    "bin": pa.array([b"\x00\xff", b"", None, b"a"]),
    "bigbin": pa.array([b"\x00\xff", b"", None, b"a"], pa.large_binary()),
    "binview": pa.array([b"\x00\xff" * 9, b"", None, b"a"], pa.binary_view()),
    "fixed": pa.array([b"abc", b"\x00\x01\x02", None, b"def"], pa.binary(3)),
    "d": pa.array([D(2026, 1, 2), D(1969, 12, 31), None, D(1, 1, 1)]),
    "d64": pa.array([D(2026, 1, 2), D(1969, 12, 31), None, D(9999, 12, 31)], pa.date64()),
    "ts": pa.array([M(2026, 1, 2, 3, 4, 5), None, M(1960, 1, 1), M(9999, 12, 31)], pa.timestamp("s")),
    "tms": pa.array([M(2026, 1, 2, 3, 4, 5, 678000), None, M(1960, 1, 1), M(2261, 12, 31)], pa.timestamp("ms")),
    "tns": pa.array([1, None, -1, 1767323045000000678], pa.timestamp("ns")),
    "tz": pa.array([M(2026, 1, 2, 3, 4, 5, 678), None, M(1960, 1, 1), M(1, 1, 1)], pa.timestamp("us", "Asia/Tokyo")),
    "t32s": pa.array([T(1, 2, 3), None, T(0, 0, 0), T(23, 59, 59)], pa.time32("s")),
    "t32": pa.array([T(1, 2, 3, 4000), None, T(0, 0, 0), T(23, 59, 59)], pa.time32("ms")),
    "t64": pa.array([T(1, 2, 3, 4), None, T(0, 0, 0), T(23, 59, 59, 999999)], pa.time64("us")),
    "t64n": pa.array([1, None, 0, 86399999999999], pa.time64("ns")),
    "dur": pa.array([S(1, 2, 3), S(-1, 86399), None, S(0)], pa.duration("us")),
    "durs": pa.array([90061, -1, None, 0], pa.duration("s")),
    "iv": pa.array([(1, -2, 3000), (-13, 5, -3600000000000), None, (0, 0, 0)], pa.month_day_nano_interval()),
    "dec32": pa.array([N("1.50"), N("-0.01"), None, N("1234567.89")], pa.decimal32(9, 2)),
    "dec64": pa.array([N("1.50"), N("-0.01"), None, N("12345678.90")], pa.decimal64(12, 2)),
    "dec": pa.array([N("1.50"), N("-0.01"), None, N("12345678.90")], pa.decimal128(10, 2)),
    "dec38": pa.array([N("1.5"), N("-123456789012345678901234567.8901234567"), None, N("0")], pa.decimal128(38, 10)),
    "dec76": pa.array([N("1.5"), N("-" + "1234567890" * 7 + ".123456"), None, N("0")], pa.decimal256(76, 6)),
    "hundreds": pa.array([N("12300"), N("-100"), None, N("0")], pa.decimal128(5, -2)),
    "null": pa.nulls(4),
    "dict": pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 1], pa.uint8()), keys),
    "dictlist": pa.ListArray.from_arrays(
        pa.array([0, 2, 2, 3, 3], pa.int32()), pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), keys)),
    "dictlong": pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, None]), pa.array([10, None])),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 4], pa.int32()), pa.array(["x", None])),
    "l": pa.array([[1, 2, None], [], None, [3]], pa.list_(pa.int32())),
    "ls": pa.array([["a b", "", None, "null"], [], None, ['"\\']], pa.large_list(pa.string())),
    "lb": pa.array([[b"\x00\xff"], [], None, [None]], pa.list_(pa.binary())),
    "lv": pa.array([[1, 2, None], [], None, [3]], pa.list_view(pa.int32())),
    "lf": pa.array([[1, 2], [3, None], None, [5, 6]], pa.list_(pa.int16(), 2)),
    "ll": pa.array([[[1], None], [], None, [[2, 3]]], pa.list_(pa.list_(pa.int32()))),
    "st": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "<&>"}, {"a": 2, "b": None}],
                   pa.struct([("a", pa.int32()), ("b", pa.string())])),
    "m": pa.array([[("k", 1), ("j", None)], [], None, [("z", 3)]], pa.map_(pa.string(), pa.int32())),
    "mb": pa.array([[(1, [D(2026, 1, 2)])], [], None, [(2, None)]], pa.map_(pa.int64(), pa.list_(pa.date32()))),
    "lst": pa.array([[{"a": [1, 2]}, {"a": None}], [], None, [None, {"a": []}]],
                    pa.list_(pa.struct([("a", pa.list_(pa.int32()))]))),
    "uuid": pa.array([uuid.UUID(int=1).bytes, uuid.UUID(int=2**128 - 1).bytes, None, bytes(16)], pa.uuid()),
    "json": pa.array(['{"a": 1}', "[]", None, "null"], pa.json_()),
    "bool8": pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, None, 0], pa.int8())),
})
where = sys.argv[1]


def write(name, batches, make=pa.ipc.new_file, **options):
    with make(f"{where}/{name}", batches[0].schema, options=pa.ipc.IpcWriteOptions(**options)) as w:
        for batch in batches:
            w.write_batch(batch)


whole = table.to_batches()
write("plain.arrow", whole)
write("zstd.arrow", whole, compression="zstd")
write("lz4.arrow", table.to_batches(max_chunksize=3), compression="lz4", unify_dictionaries=False)
write("plain.arrows", table.to_batches(max_chunksize=2), pa.ipc.new_stream)
write("old.arrows", [b.drop_columns(["view", "binview", "runs", "lv"]) for b in whole], pa.ipc.new_stream,
      metadata_version=pa.ipc.MetadataVersion.V4, use_legacy_format=True)


def coded(values, indexes):
    column = pa.DictionaryArray.from_arrays(pa.array(indexes, pa.int8()), pa.array(values))
    return pa.record_batch([column], ["dict"])


# A dictionary that grows, that is replaced, and that grows again.
long = "a long text, behind its view"
parts = [coded(["a"], [0]), coded(["a", long], [1]), coded(["x"], [None]), coded(["x", 'é,"x"'], [1])]
write("delta.arrows", parts, pa.ipc.new_stream, emit_dictionary_deltas=True)
write("delta.arrow", [parts[0], parts[1], coded(["a", long], [None]), coded(["a", long, 'é,"x"'], [2])],
      emit_dictionary_deltas=True)

# What they have a type for.
known = table.drop_columns(["iv", "dec76", "hundreds", "runs", "lv", "m", "mb", "uuid", "json", "bool8", "dec32", "dec64",
                            "f16", "durs", "d64", "t32", "t32s", "fixed", "dictlong", "dictlist", "ts"])
frame = polars.from_arrow(known)
frame.write_ipc(f"{where}/polars.arrow", compression="zstd")
frame.write_ipc_stream(f"{where}/polars.arrows", compression="lz4")
frame.write_ipc(f"{where}/polarsold.arrow", compat_level=polars.CompatLevel.oldest())
known = known.drop_columns(["dur", "null", "tns", "t64n", "tz"])
duck = duckdb.sql("SELECT * FROM known")
write("duckdb.arrows", duck.to_arrow_table().to_batches(), pa.ipc.new_stream)
duckdb.sql("SET produce_arrow_string_view = true; SET arrow_output_list_view = true; SET arrow_large_buffer_size = true")
write("duckdbviews.arrows", duckdb.sql("SELECT * FROM known").to_arrow_table().to_batches(), pa.ipc.new_stream)
