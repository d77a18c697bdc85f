"""Compares a file of Parquet with a file of JSON lines, as read.py does: by Spark."""
import sys

import pyarrow.parquet
from pyspark.sql import SparkSession

import read

file, lines, kinds = sys.argv[1], sys.argv[2], sys.argv[3].split(" ")
spark = SparkSession.builder.master("local[1]").config(map={
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timeType.enabled": "true",
    "spark.ui.enabled": "false",
}).getOrCreate()
reader = spark.read
if "uuid" in kinds:  # has no type in Spark, so that it refuses the file without a schema
    spark_types = {"uuid": "binary", "list(uuid)": "array<binary>"}
    names = pyarrow.parquet.read_schema(file).names
    reader = reader.schema(", ".join(f"`{name}` {spark_types[kind]}" for name, kind in zip(names, kinds)))
read.compare({"spark": lambda: reader.parquet(file).toArrow()}, lines, kinds)
spark.stop()
