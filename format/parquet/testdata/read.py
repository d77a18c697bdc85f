"""Compares a file of Parquet or Arrow with a file of JSON lines, which has the text of each cell: by pyarrow, DuckDB and Polars."""
import datetime
import decimal
import json
import math
import re
import struct
import sys
import uuid

import duckdb
import polars
import pyarrow.parquet


def elements(text):
    """Returns the texts of the elements of an array of PostgreSQL."""
    found = re.findall(r'"((?:[^"\\]|\\.)*)"|([^,]+)', text[1:-1])
    return [None if plain == "NULL" else plain or re.sub(r"\\(.)", r"\1", quoted) for quoted, plain in found]


def same(value, text, kind):
    """Reports whether a value is the one with a canonical text."""
    if value is None or text is None:
        return value is None and text is None
    if kind.startswith("list(") and kind != "list(unknown)":
        texts, kind = elements(text), kind[len("list("):-1]
        return len(value) == len(texts) and all(same(one, text, kind) for one, text in zip(value, texts))
    if kind == "bytes":
        return text == "\\x" + value.hex()
    if kind == "uuid":
        return uuid.UUID(text) == (uuid.UUID(bytes=value) if isinstance(value, bytes) else uuid.UUID(str(value)))
    if isinstance(value, bytes):  # some take JSON for binary data
        return value.decode() == text
    if isinstance(value, bool):
        return text == ("t" if value else "f")
    if isinstance(value, float):
        number = float(text)
        if kind == "float32":
            number = struct.unpack("f", struct.pack("f", number))[0]
        return value == number or math.isnan(value) and math.isnan(number)
    if isinstance(value, int):
        return value == int(text)
    if isinstance(value, decimal.Decimal):
        return value == decimal.Decimal(text)
    if isinstance(value, datetime.datetime):
        return value == datetime.datetime.fromisoformat(text)
    if isinstance(value, datetime.date):
        return value == datetime.date.fromisoformat(text)
    if isinstance(value, datetime.time):
        return value == datetime.time.fromisoformat(text)
    return value == text


def compare(readers, lines, kinds):
    """Compares the table that each reader returns with the lines of JSON."""
    with open(lines, encoding="utf-8") as f:
        wanted = [json.loads(line) for line in f]
    for name, read in readers.items():
        table = read()
        if (table.num_rows, table.num_columns) != (len(wanted), len(kinds)):
            sys.exit(f"{name}: {table.num_rows} rows of {table.num_columns} columns")
        for i, column in enumerate(table.columns):
            for row, value in enumerate(column.to_pylist()):
                if not same(value, wanted[row][i], kinds[i]):
                    sys.exit(f"{name}: column {i} ({kinds[i]}), row {row}: {value!r}, want {wanted[row][i]!r}")
        print(name, "has read", table.num_rows, "rows")


def main(file, lines, kinds):
    """Has each program read the file."""
    duckdb.sql("SET TimeZone = 'UTC'")
    if file.endswith(".parquet"):
        readers = {
            "pyarrow": lambda: pyarrow.parquet.read_table(file),
            "duckdb": lambda: duckdb.sql(f"SELECT * FROM '{file}'").to_arrow_table(),
            "polars": lambda: polars.read_parquet(file).to_arrow(),
        }
    else:
        is_stream = file.endswith(".arrows")
        columns = (pyarrow.ipc.open_stream if is_stream else pyarrow.ipc.open_file)(pyarrow.OSFile(file)).read_all()
        columns.validate(full=True)
        readers = {
            "pyarrow": lambda: columns,
            "duckdb": lambda: duckdb.from_arrow(columns).to_arrow_table(),
            "polars": lambda: (polars.read_ipc_stream if is_stream else polars.read_ipc)(file).to_arrow(),
        }
    compare(readers, lines, kinds.split(" "))


if __name__ == "__main__":
    main(*sys.argv[1:])
