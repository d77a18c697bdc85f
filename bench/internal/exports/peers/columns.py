"""The peers of the workload columns: python3 columns.py WORK ARGUMENT..."""

import sys

import pyarrow as pa
import pyarrow.parquet as pq

OPEN = []  # whose rows end when nothing refers to them
ZSTD = {"compression": "zstd", "compression_level": 1}


def connectorx(uri, out):
    import connectorx

    table = connectorx.read_sql(
        uri, "SELECT * FROM orders", return_type="arrow", partition_on="id", partition_num=4)
    pq.write_table(table, out, **ZSTD)


def adbc_rows(uri):
    from adbc_driver_postgresql import dbapi

    cursor = dbapi.connect(uri).cursor()
    cursor.execute("SELECT * FROM orders")
    OPEN.append(cursor)
    return cursor.fetch_record_batch()


def adbc(uri, out):
    rows = adbc_rows(uri)
    with pq.ParquetWriter(out, rows.schema, **ZSTD) as writer:
        for batch in rows:
            writer.write_batch(batch)


def adbcarrow(uri, out, compression="zstd"):
    rows = adbc_rows(uri)
    with pa.ipc.new_file(out, rows.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        for batch in rows:
            writer.write_batch(batch)


def adbcplain(uri, out):
    adbcarrow(uri, out, None)


def pandas(database, out):
    import sqlite3

    import pandas

    pandas.read_sql("SELECT * FROM orders", sqlite3.connect(database)).to_parquet(out, **ZSTD)


def ingest(uri, file):
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(uri) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS loaded")
        source = pq.ParquetFile(file)
        storage = pa.schema([  # without extensions, such as that of JSON, which the driver does not know
            (f.name, getattr(f.type, "storage_type", f.type)) for f in source.schema_arrow])
        batches = (pa.RecordBatch.from_arrays(
            [getattr(c, "storage", c) for c in batch.columns], schema=storage) for batch in source.iter_batches())
        cursor.adbc_ingest("loaded", pa.RecordBatchReader.from_batches(storage, batches), mode="create")
        connection.commit()


def again(file, out):
    pq.write_table(pq.read_table(file), out, **ZSTD)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
