package sqldb

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"culvert/internal/testkit"
	"culvert/source"
)

func TestScan(t *testing.T) {
	type (
		text string
		flag bool
		real float64
	)
	east := time.FixedZone("", 5*3600+1800)
	for _, test := range []struct {
		column string
		src    any
		kind   source.Kind
		want   string
	}{
		{"INT", nil, source.Null, ""},
		{"INT", int64(math.MinInt64), source.Number, "-9223372036854775808"},
		{"", int64(7), source.Number, "7"},
		{"", 0.1, source.Number, "0.1"},
		{"", math.Inf(-1), source.Number, "-Infinity"},
		{"", math.NaN(), source.Number, "NaN"},
		{"", true, source.Bool, "t"},
		{"", false, source.Bool, "f"},
		{"", "", source.Text, ""},
		{"", []byte{}, source.Bytes, ""},
		{"BLOB", []byte("\x00\xff"), source.Bytes, "\x00\xff"},
		{"VARBINARY", []byte("a"), source.Bytes, "a"},
		{"VARCHAR", []byte("a"), source.Text, "a"},
		{"character varying(9)", []byte("a"), source.Text, "a"},
		{"MEDIUMTEXT", []byte("a"), source.Text, "a"},
		{"ENUM", []byte("a"), source.Text, "a"},
		{"FLOAT4", float64(float32(0.1)), source.Number, "0.1"},
		{"FLOAT4", float64(float32(-1e-4)), source.Number, "-0.0001"},
		{"float4", float64(float32(999999.94)), source.Number, "999999.94"},
		{"FLOAT4", 1e6, source.Number, "1e+06"},
		{"FLOAT4", 0.0, source.Number, "0"},
		{"FLOAT4", 0.1, source.Number, "0.1"},
		{"FLOAT4", 1e300, source.Number, "1e+300"},
		{"FLOAT4", math.NaN(), source.Number, "NaN"},
		{"FLOAT4", math.Inf(-1), source.Number, "-Infinity"},
		{"FLOAT8", float64(float32(0.1)), source.Number, "0.10000000149011612"},

		{"", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), source.Text, "2026-01-02T03:04:05Z"},
		{"", time.Date(2026, 1, 2, 3, 4, 5, 123_000_000, east), source.Text, "2026-01-02T03:04:05.123+05:30"},
		{"", time.Date(12026, 1, 2, 3, 4, 5, 1, time.UTC), source.Text, "12026-01-02T03:04:05.000000001Z"},

		{"DATE", time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), source.Text, "2026-01-02"},
		{"date", time.Date(2026, 1, 2, 0, 0, 0, 0, east), source.Text, "2026-01-02"},
		{"DATE", time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC), source.Text, "2026-01-02 03:04:00"},
		{"DATE", time.Date(-43, 3, 15, 0, 0, 0, 0, time.UTC), source.Text, "0044-03-15 BC"},
		{"DATE", time.Date(0, 2, 29, 0, 0, 0, 0, time.UTC), source.Text, "0001-02-29 BC"},
		{"DATE", time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), source.Text, "0001-01-01"},
		{"DATE", time.Date(999, 1, 1, 0, 0, 0, 0, time.UTC), source.Text, "0999-01-01"},
		{"TIMESTAMP", time.Date(2026, 1, 2, 3, 4, 5, 120_000_000, time.UTC), source.Text, "2026-01-02 03:04:05.12"},
		{"DATETIME(6)", time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), source.Text, "2026-01-02 00:00:00"},
		{"timestamp without time zone", time.Date(9, 8, 7, 0, 0, 0, 0, time.UTC), source.Text, "0009-08-07 00:00:00"},
		{"TIMESTAMP", time.Date(12026, 1, 2, 3, 4, 5, 0, time.UTC), source.Text, "12026-01-02 03:04:05"},
		{"TIMESTAMP", time.Date(2026, 1, 2, 3, 4, 5, 0, east), source.Text, "2026-01-02T03:04:05+05:30"},
		{"TIMESTAMPTZ", time.Date(2026, 1, 2, 3, 4, 5, 1000, east), source.Text, "2026-01-01 21:34:05.000001+00"},
		{"timestamp(6) with time zone", time.Date(2026, 1, 2, 0, 0, 0, 0, east), source.Text, "2026-01-01 18:30:00+00"},
		{"TIMESTAMPTZ", time.Date(0, 2, 29, 0, 0, 0, 0, time.UTC), source.Text, "0001-02-29 00:00:00+00 BC"},
		{"TIME", time.Date(2000, 1, 1, 3, 4, 5, 0, time.UTC), source.Text, "2000-01-01T03:04:05Z"},

		{"DECIMAL", []byte("1.50"), source.Number, "1.50"},
		{"NUMERIC(10,2)", "-1.50", source.Number, "-1.50"},
		{"UNSIGNED BIGINT", []byte("18446744073709551615"), source.Number, "18446744073709551615"},
		{"int unsigned", "7", source.Number, "7"},
		{"DOUBLE PRECISION", "1e-9", source.Number, "1e-9"},
		{"NUMERIC", "NaN", source.Number, "NaN"},
		{"NUMERIC", "-Infinity", source.Number, "-Infinity"},
		{"INT", "00042", source.Text, "00042"},
		{"INT", "", source.Text, ""},
		{"INT", " 1", source.Text, " 1"},
		{"INT", "1 ", source.Text, "1 "},
		{"INT", "1,5", source.Text, "1,5"},
		{"INT", "[1,2]", source.Text, "[1,2]"},
		{"INT", "true", source.Text, "true"},
		{"TEXT", "7", source.Text, "7"},

		{"JSON", []byte(`{"a": 1}`), source.JSON, `{"a": 1}`},
		{"jsonb", "null", source.JSON, "null"},
		{"JSON", `{"a": `, source.Text, `{"a": `},
		{"JSON", "", source.Text, ""},

		// What drivers give against the rules of database/sql.
		{"", int32(-7), source.Number, "-7"},
		{"", uint64(math.MaxUint64), source.Number, "18446744073709551615"},
		{"", float32(0.1), source.Number, "0.1"},
		{"", float32(math.Inf(1)), source.Number, "Infinity"},
		{"", real(0.5), source.Number, "0.5"},
		{"", flag(true), source.Bool, "t"},
		{"", text("a"), source.Text, "a"},
		{"JSON", json.RawMessage("[]"), source.JSON, "[]"},
	} {
		var b source.Batch
		b.Reset(1)
		v := value{batch: &b, columnType: typeOf(test.column)}
		if err := v.Scan(test.src); err != nil {
			t.Errorf("%T %v in a column of type %q: %v", test.src, test.src, test.column, err)
			continue
		}
		b.EndRow()
		if kind, got := b.Value(0, 0); kind != test.kind || string(got) != test.want {
			t.Errorf("%T %v in a column of type %q: got %v %q, want %v %q",
				test.src, test.src, test.column, kind, got, test.kind, test.want)
		}
	}

	v := value{batch: new(source.Batch)}
	if err := v.Scan(struct{}{}); err == nil || !strings.Contains(err.Error(), "struct {}") {
		t.Errorf("a struct: %v, want an error that names the type", err)
	}
}

// TestScanAllocations: what a value costs is the driver's.
func TestScanAllocations(t *testing.T) {
	var b source.Batch
	v := value{batch: &b, columnType: typeOf("JSON")}
	long := any(`{"a": "` + strings.Repeat("x", 1000) + `"}`)
	values := []any{nil, any(int64(1 << 40)), any(1.5), any(true), long, any([]byte("[]")), any(time.Now())}
	testkit.Allocs(t, 0, func() {
		b.Reset(len(values))
		for _, src := range values {
			if err := v.Scan(src); err != nil {
				t.Fatal(err)
			}
		}
		b.EndRow()
	})
}
