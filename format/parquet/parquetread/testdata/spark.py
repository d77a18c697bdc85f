"""Writes files of Parquet as Spark does today and as it did before 1.5, with the values of snappy.parquet, into its
directory. Spark has no times of day, and decimals for uint64."""
import glob
import os
import shutil
import sys
import tempfile

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config(map={
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
}).getOrCreate()
with tempfile.TemporaryDirectory() as scratch:
    pq.write_table(pq.read_table(f"{sys.argv[1]}/snappy.parquet").drop_columns(["t"]), f"{scratch}/in.parquet")
    table = spark.read.parquet(f"{scratch}/in.parquet").coalesce(1)
    for name, legacy in {"spark": "false", "sparklegacy": "true"}.items():
        spark.conf.set("spark.sql.parquet.writeLegacyFormat", legacy)
        if legacy == "true":
            table = table.withColumn("ts", table["ts"].cast("timestamp"))  # INT96
        table.write.parquet(f"{scratch}/{name}")
        shutil.copyfile(glob.glob(f"{scratch}/{name}/*.parquet")[0], f"{sys.argv[1]}/{name}.parquet")
spark.stop()
