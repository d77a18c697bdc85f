package testkit

import (
	"cmp"
	"os"
	"path/filepath"
)

// Readers is where ./dev soak puts DuckDB, Polars and pyarrow, for PYTHONPATH, with what is there already.
func Readers() string {
	cache := cmp.Or(os.Getenv("XDG_CACHE_HOME"), filepath.Join(os.Getenv("HOME"), ".cache"))
	return filepath.Join(cache, "culvert", "readers") + string(filepath.ListSeparator) + os.Getenv("PYTHONPATH")
}
