package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"culvert/source"
	"culvert/sqldb"
)

// oneValue is a driver whose queries return one row of one value.
type oneValue struct {
	driver.Conn
	typeName string
	scale    int64 // 0 if the driver does not tell
	value    any
	read     bool
}

func (o *oneValue) Connect(context.Context) (driver.Conn, error) { return o, nil }
func (o *oneValue) Driver() driver.Driver                        { return nil }
func (o *oneValue) Close() error                                 { return nil }
func (o *oneValue) Columns() []string                            { return []string{"v"} }
func (o *oneValue) ColumnTypeDatabaseTypeName(int) string        { return o.typeName }

func (o *oneValue) ColumnTypePrecisionScale(int) (precision, scale int64, ok bool) {
	return 38, o.scale, o.scale > 0
}

func (o *oneValue) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	o.read = false
	return o, nil
}

func (o *oneValue) Next(dest []driver.Value) error {
	if o.read {
		return io.EOF
	}
	o.read, dest[0] = true, o.value
	return nil
}

// get queries the one value.
func (o *oneValue) get(t *testing.T, config sqldb.Config) (kind source.Kind, text string, err error) {
	t.Helper()
	db := sql.OpenDB(o)
	defer closing(t, db)
	rows, err := config.New(db).Query(t.Context(), "SELECT v")
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, rows)
	var b source.Batch
	if err := rows.Next(&b); err != nil {
		return 0, "", err
	}
	kind, value := b.Value(0, 0)
	return kind, string(value), nil
}

// The types below have the fields and methods of those that drivers deliver. duckDecimal, duckInterval, duckMap and
// duckUnion are of github.com/duckdb/duckdb-go, and shopDecimal is of github.com/shopspring/decimal, which those of
// ClickHouse, Firebird and others deliver.
type (
	duckDecimal struct {
		Width, Scale uint8
		Value        *big.Int
	}
	duckInterval struct {
		Days   int32 `json:"days"`
		Months int32 `json:"months"`
		Micros int64 `json:"micros"`
	}
	duckMap   struct{ text string }
	duckUnion struct {
		Value driver.Value `json:"value"`
		Tag   string       `json:"tag"`
	}
	shopDecimal struct{ text string }
	idPointer   [16]byte
	number      string
	recursive   struct{}
	refused     struct{}
)

func (d duckDecimal) String() string {
	return fmt.Sprintf("%d.%02d", d.Value.Int64()/100, d.Value.Int64()%100)
}
func (m duckMap) String() string                   { return "map[" + m.text + "]" }
func (m duckMap) MarshalJSON() ([]byte, error)     { return []byte(m.text), nil }
func (d shopDecimal) Value() (driver.Value, error) { return d.text, nil }
func (d shopDecimal) String() string               { return "not " + d.text }
func (u *idPointer) String() string                { return fmt.Sprintf("%x", u[:2]) }
func (n number) String() string                    { return string(n) }
func (r recursive) Value() (driver.Value, error)   { return r, nil }
func (r refused) Value() (driver.Value, error)     { return nil, errors.New("refused") }

func TestDriverValues(t *testing.T) {
	id := []byte("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff")
	decimal := func(n int64) duckDecimal { return duckDecimal{9, 2, big.NewInt(n)} }
	bigNumber, _ := new(big.Int).SetString("-170141183460469231731687303715884105728", 10)
	clock := func(year, day, hour int, zone *time.Location) time.Time {
		return time.Date(year, 1, day, hour, 0, 0, 0, zone)
	}
	var noDecimal *duckDecimal
	for _, test := range []struct {
		driver, column string
		value          any
		kind           source.Kind
		want           string
	}{
		{"mssql", "MONEY", []byte("-922337203685477.5808"), source.Number, "-922337203685477.5808"},
		{"mssql", "SMALLMONEY", []byte("1.0000"), source.Number, "1.0000"},
		{"mssql", "DECIMAL", []byte("0.10"), source.Number, "0.10"},
		{"mssql", "UNIQUEIDENTIFIER", id, source.Text, "33221100-5544-7766-8899-AABBCCDDEEFF"},
		{"mssql", "DATETIME2", clock(2026, 2, 3, time.UTC), source.Text, "2026-01-02 03:00:00"},
		{
			"mssql", "DATETIMEOFFSET", clock(2026, 2, 3, time.FixedZone("", 3600)),
			source.Text, "2026-01-02T03:00:00+01:00",
		},
		{"mssql", "TIME", clock(1, 1, 3, time.UTC), source.Text, "03:00:00"},
		{"mssql", "VARBINARY", []byte("1.0"), source.Bytes, "1.0"},
		{"mssql", "IMAGE", []byte("1.0"), source.Bytes, "1.0"},

		{"pq", "MONEY", []byte("$1,234.50"), source.Text, "$1,234.50"},
		{"pq", "INET", []byte("10.0.0.1"), source.Text, "10.0.0.1"},
		{"pq", "MACADDR8", []byte("08:00:2b:01:02:03:04:05"), source.Text, "08:00:2b:01:02:03:04:05"},
		{"pq", "_INT4", []byte("{1,NULL}"), source.Text, "{1,NULL}"},
		{"pq", "INT4RANGE", []byte("[1,2)"), source.Text, "[1,2)"},
		{"pq", "POINT", []byte("(1,2)"), source.Text, "(1,2)"},
		{"pq", "TSVECTOR", []byte("'a'"), source.Text, "'a'"},
		{"pq", "REGCLASS", []byte("t"), source.Text, "t"},
		{"pq", "OID", []byte("26"), source.Number, "26"},
		{"pq", "TIMESTAMP", []byte("infinity"), source.Text, "infinity"},
		{"pq", "TIME", clock(0, 2, 0, time.UTC), source.Text, "24:00:00"},
		{"pq", "TIMETZ", clock(0, 1, 3, time.FixedZone("", -5*3600-1800)), source.Text, "03:00:00-05:30"},
		{"pq", "TIMETZ", clock(0, 1, 3, time.FixedZone("", 7200)), source.Text, "03:00:00+02"},
		{
			"pq", "UUID", []byte("00112233-4455-6677-8899-aabbccddeeff"),
			source.Text, "00112233-4455-6677-8899-aabbccddeeff",
		},
		{"pq", "BYTEA", id, source.Bytes, string(id)},

		{"duckdb", "DECIMAL(9,2)", decimal(150), source.Number, "1.50"},
		{"duckdb", "DECIMAL(9,2)[]", []any{decimal(150), nil}, source.JSON, "[1.50,null]"},
		{"duckdb", "HUGEINT", bigNumber, source.Number, bigNumber.String()},
		{"duckdb", "UUID", id, source.Text, "00112233-4455-6677-8899-aabbccddeeff"},
		{"duckdb", "UUID[2]", []any{id}, source.JSON, `["00112233-4455-6677-8899-aabbccddeeff"]`},
		{"duckdb", "INTEGER[][]", []any{[]any{int32(1), nil}, []any{}}, source.JSON, "[[1,null],[]]"},
		{"duckdb", "VARCHAR[]", []any{"<\"é\n", "7"}, source.JSON, `["<\"é\n","7"]`},
		{"duckdb", "DOUBLE[]", []any{1.5, math.Inf(1)}, source.JSON, `[1.5,"Infinity"]`},
		{"duckdb", "BLOB[]", []any{[]byte("\x00\xff")}, source.JSON, `["\\x00ff"]`},
		{"duckdb", "TIMESTAMP[]", []any{clock(2026, 2, 3, time.UTC)}, source.JSON, `["2026-01-02 03:00:00"]`},
		{
			"duckdb", "STRUCT(b BOOLEAN, a INTEGER)",
			map[string]any{"b": true, "a": int32(1)},
			source.JSON, `{"a":1,"b":true}`,
		},
		{"duckdb", "MAP(INTEGER, VARCHAR)", duckMap{`{"1": "a"}`}, source.JSON, `{"1": "a"}`},
		{"duckdb", "UNION(a INTEGER)", duckUnion{int32(7), "a"}, source.JSON, `{"value":7,"tag":"a"}`},
		{"duckdb", "INTERVAL", duckInterval{1, 2, 3}, source.JSON, `{"days":1,"months":2,"micros":3}`},
		{"duckdb", "JSON", map[string]any{"a": []any{1.0, "x", nil}}, source.JSON, `{"a":[1,"x",null]}`},

		{"clickhouse", "Nullable(Decimal(9, 2))", "1.50", source.Number, "1.50"},
		{"clickhouse", "LowCardinality(Nullable(String))", "1.50", source.Text, "1.50"},
		{"clickhouse", "Int256", *bigNumber, source.Number, bigNumber.String()},
		{"clickhouse", "UInt64", uint64(1 << 63), source.Number, "9223372036854775808"},
		{"clickhouse", "IPv4", net.IPv4(10, 0, 0, 1).To4(), source.Text, "10.0.0.1"},
		{"clickhouse", "Array(UInt8)", []uint8{1, 255}, source.JSON, "[1,255]"},
		{"clickhouse", "Array(Nullable(Decimal(9, 2)))", []*shopDecimal{{"1.5"}, nil}, source.JSON, "[1.5,null]"},
		{"clickhouse", "Map(String, UInt8)", map[string]uint8{"b": 1, "a": 2}, source.JSON, `{"a":2,"b":1}`},
		{"clickhouse", "Tuple(UInt8, String)", []any{uint8(1), "a"}, source.JSON, `[1,"a"]`},
		{"clickhouse", "Point", [2]float64{1, 2.5}, source.JSON, "[1,2.5]"},
		{"clickhouse", "Date32", clock(2026, 2, 0, time.UTC), source.Text, "2026-01-02"},
		{"clickhouse", "DateTime64(3)", clock(2026, 2, 3, time.UTC), source.Text, "2026-01-02 03:00:00"},
		{
			"clickhouse", "Time64(3)", -(100*time.Hour + 2*time.Minute + 3500*time.Millisecond),
			source.Text, "-100:02:03.5",
		},

		{"snowflake", "FIXED", "-1.50", source.Number, "-1.50"},
		{"snowflake", "DECFLOAT", big.NewFloat(1e300), source.Number, "1e+300"},
		{"snowflake", "VARIANT", `{"a": 1}`, source.JSON, `{"a": 1}`},
		{"snowflake", "ARRAY", "[1]", source.JSON, "[1]"},
		{"snowflake", "TIMESTAMP_NTZ", clock(2026, 2, 3, time.UTC), source.Text, "2026-01-02 03:00:00"},
		{
			"snowflake", "TIMESTAMP_TZ", clock(2026, 2, 3, time.FixedZone("", 3600)),
			source.Text, "2026-01-02 02:00:00+00",
		},
		{"snowflake", "TIME", clock(1, 1, 3, time.UTC), source.Text, "03:00:00"},

		{"oracle", "NUMBER", "-0.5", source.Number, "-0.5"},
		{"oracle", "NUMBER", number("12.30"), source.Number, "12.30"},
		{"oracle", "IBDouble", 0.5, source.Number, "0.5"},
		{"oracle", "TimeStampDTY", clock(2026, 2, 3, time.UTC), source.Text, "2026-01-02 03:00:00"},
		{"oracle", "TimeStampTZ_DTY", clock(2026, 2, 3, time.UTC), source.Text, "2026-01-02 03:00:00+00"},
		{
			"oracle", "TIMESTAMP WITH LOCAL TIME ZONE", clock(2026, 2, 3, time.UTC),
			source.Text, "2026-01-02 03:00:00+00",
		},
		{"oracle", "INTERVAL DAY TO SECOND", 36*time.Hour + time.Nanosecond, source.Text, "36:00:00.000000001"},
		{"oracle", "RAW", []byte("7"), source.Bytes, "7"},

		{"firebird", "INT128", shopDecimal{"1.5"}, source.Number, "1.5"},
		{"firebird", "TIMESTAMP WITH TIMEZONE", clock(2026, 2, 3, time.UTC), source.Text, "2026-01-02 03:00:00+00"},

		{"any", "", sql.NullString{}, source.Null, ""},
		{"any", "", sql.NullInt64{Int64: 7, Valid: true}, source.Number, "7"},
		{"any", "DECIMAL", noDecimal, source.Null, ""},
		{"any", "", []string(nil), source.Null, ""},
		{"any", "", map[string]int(nil), source.Null, ""},
		{"any", "", json.Number("1.50"), source.Number, "1.50"},
		{"any", "", json.RawMessage(`{"a": 1}`), source.JSON, `{"a": 1}`},
		{"any", "", idPointer{1, 2}, source.Text, "0102"},
		{"any", "", [2]byte{1, 2}, source.Bytes, "\x01\x02"},
		{"any", "", struct{ A any }{struct{ B []int }{[]int{1}}}, source.JSON, `{"A":{"B":[1]}}`},
	} {
		kind, got, err := (&oneValue{typeName: test.column, value: test.value}).get(t, sqldb.Config{})
		if err != nil || kind != test.kind || got != test.want {
			t.Errorf("%s: %T %v in a column of type %q: got %v %q, %v, want %v %q",
				test.driver, test.value, test.value, test.column, kind, got, err, test.kind, test.want)
		}
	}
}

// TestScale reads a number that the driver has rounded to 127 bits, away from zero.
func TestScale(t *testing.T) {
	const want = "1234567890123456789012345678.1234567890"
	x, _, err := big.ParseFloat(want, 10, 127, big.AwayFromZero)
	if err != nil {
		t.Fatal(err)
	}
	kind, got, err := (&oneValue{typeName: "FIXED", scale: 10, value: *x}).get(t, sqldb.Config{})
	if err != nil || kind != source.Number || got != want {
		t.Errorf("got %v %q, %v, want %v %q", kind, got, err, source.Number, want)
	}
}

func TestUnreadableValues(t *testing.T) {
	type loop []any
	endless := loop{nil}
	endless[0] = endless
	for _, test := range []struct {
		value any
		want  string
	}{
		{struct{}{}, "struct {}"},
		{struct{ hidden int }{1}, "struct { hidden int }"},
		{[]any{func() {}}, "func()"},
		{complex(1, 1), "complex128"},
		{recursive{}, "nested more than"},
		{endless, "nested more than"},
		{refused{}, "refused"},
		{[]any{refused{}}, "refused"},
	} {
		_, _, err := (&oneValue{value: test.value}).get(t, sqldb.Config{})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%T: %v, want an error with %q", test.value, err, test.want)
		}
	}
}

func TestConvert(t *testing.T) {
	config := sqldb.Config{Convert: func(column *sql.ColumnType, value any) (any, error) {
		switch x := value.(type) {
		case complex128:
			return real(x), nil
		case []byte:
			return column.Name() + string(x), nil
		case bool:
			return nil, nil
		}
		return nil, errors.New("unknown")
	}}
	for _, test := range []struct {
		value any
		kind  source.Kind
		want  string
	}{
		{complex(1.5, 1), source.Number, "1.5"},
		{[]byte("alue"), source.Text, "value"},
		{true, source.Null, ""},
		{nil, source.Null, ""},
	} {
		o := &oneValue{value: test.value}
		if kind, got, err := o.get(t, config); err != nil || kind != test.kind || got != test.want {
			t.Errorf("%v: got %v %q, %v, want %v %q", test.value, kind, got, err, test.kind, test.want)
		}
	}
	if _, _, err := (&oneValue{value: "x"}).get(t, config); err == nil || !strings.Contains(err.Error(), "unknown") {
		t.Errorf("the error of Convert became %v", err)
	}
}

// TestLogicalTypes has names of types as drivers report them.
func TestLogicalTypes(t *testing.T) {
	for name, want := range map[string]string{
		"": "unknown", "INT8": "int64", "int4": "int32", "INTEGER": "int64", "UNSIGNED BIGINT": "decimal(20,0)",
		"Nullable(Int8)": "int16", "UInt32": "int64", "LowCardinality(Nullable(String))": "string",
		"FLOAT4": "float32", "REAL": "float64", "DOUBLE PRECISION": "float64",
		"NUMERIC": "decimal(38,10)", "Decimal(9, 2)": "decimal(9,2)", "DECIMAL(7)": "decimal(7,0)",
		"VARCHAR(20)": "string(20)", "NVARCHAR": "string", "BPCHAR": "char", "ENUM": "enum", "MONEY": "unknown",
		"BYTEA": "bytes", "Date32": "date", "TIME(3)": "time(3)", "TIMETZ": "unknown", "DATETIME2": "timestamp",
		"DateTime64(3)": "timestamp(3)", "TIMESTAMP WITH LOCAL TIME ZONE": "instant", "TIMESTAMPTZ": "instant",
		"INTERVAL": "interval", "UNIQUEIDENTIFIER": "uuid", "VARIANT": "json", "INTEGER[3]": "list(int64)",
		"_FLOAT4": "list(float32)", "INTEGER[][]": "list(unknown)", "Array(UInt8)": "list(int16)",
	} {
		db := sql.OpenDB(&oneValue{typeName: name, scale: 10})
		rows, err := sqldb.New(db).Query(t.Context(), "SELECT v")
		if err != nil {
			t.Fatal(err)
		}
		if got := rows.Columns()[0].Logical.String(); got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
		closing(t, rows)
		closing(t, db)
	}
}
