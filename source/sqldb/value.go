package sqldb

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"culvert/source"
)

// value takes the values of one column from database/sql, which hands a Scanner what the driver gave, without the copy
// that other destinations cost.
type value struct {
	batch       *source.Batch
	text, bytes source.Kind // what a string, and a []byte, is in this column
	single      bool        // a float64 has the digits of a float32
	clock       clock       // how a time is written
	scratch     []byte
}

// setType says what type the column has.
func (v *value) setType(typeName string) {
	v.text, v.bytes = kinds(typeName)
	v.single = strings.EqualFold(typeName, "FLOAT4")
	v.clock = clockOf(typeName)
}

var _ sql.Scanner = (*value)(nil)

// Scan appends a value to the batch.
func (v *value) Scan(src any) error {
	switch x := src.(type) {
	case nil:
		v.batch.AppendNull()
	case int64:
		v.batch.AppendInt(x)
	case float64:
		v.appendFloat(x)
	case bool:
		v.appendBool(x)
	case []byte:
		v.append(v.bytes, x)
	case string:
		v.scratch = append(v.scratch[:0], x...)
		v.append(v.text, v.scratch)
	case time.Time:
		v.scratch = v.clock.appendTime(v.scratch[:0], x)
		v.append(source.Text, v.scratch)
	default:
		return v.scanOther(reflect.ValueOf(src))
	}
	return nil
}

// scanOther appends a value of a type that a driver should not give, by its kind.
func (v *value) scanOther(x reflect.Value) error {
	switch {
	case x.CanInt():
		v.batch.AppendInt(x.Int())
	case x.CanUint():
		v.scratch = strconv.AppendUint(v.scratch[:0], x.Uint(), 10)
		v.append(source.Number, v.scratch)
	case x.Kind() == reflect.Float32:
		v.appendSingle(float32(x.Float()))
	case x.Kind() == reflect.Float64:
		v.appendFloat(x.Float())
	case x.Kind() == reflect.Bool:
		v.appendBool(x.Bool())
	case x.Kind() == reflect.String:
		v.scratch = append(v.scratch[:0], x.String()...)
		v.append(v.text, v.scratch)
	case x.Kind() == reflect.Slice && x.Type().Elem().Kind() == reflect.Uint8:
		v.append(v.bytes, x.Bytes())
	default:
		return fmt.Errorf("the driver gave a value of type %s, which database/sql does not provide for", x.Type())
	}
	return nil
}

func (v *value) appendFloat(x float64) {
	if v.single && float64(float32(x)) == x {
		v.appendSingle(float32(x))
		return
	}
	v.batch.AppendFloat(x)
}

// appendSingle appends a float32 by its own digits, which are fewer than those that it has as a float64. It is laid out
// as PostgreSQL prints a real, with an exponent below 1e-4 and from 1e6.
func (v *value) appendSingle(x float32) {
	abs := float32(math.Abs(float64(x)))
	if x != x || math.IsInf(float64(abs), 1) {
		v.batch.AppendFloat(float64(x))
		return
	}
	verb := byte('f')
	if abs != 0 && abs < 1e-4 || abs >= 1e6 {
		verb = 'e'
	}
	v.scratch = strconv.AppendFloat(v.scratch[:0], float64(x), verb, -1, 32)
	v.batch.Append(source.Number, v.scratch)
}

func (v *value) appendBool(x bool) {
	text := "f"
	if x {
		text = "t"
	}
	v.scratch = append(v.scratch[:0], text...)
	v.append(source.Bool, v.scratch)
}

// append appends a value, as Text if it is not what the type of the column says: some databases let text be anywhere.
func (v *value) append(kind source.Kind, x []byte) {
	if kind == source.Number && !isNumber(x) || kind == source.JSON && !json.Valid(x) {
		kind = source.Text
	}
	v.batch.Append(kind, x)
}

// isNumber reports whether x is a number as JSON has it, or one of the values that JSON does not have.
func isNumber(x []byte) bool {
	switch string(x) {
	case "":
		return false
	case "NaN", "Infinity", "-Infinity":
		return true
	}
	first, last := x[0], x[len(x)-1]
	return (first == '-' || '0' <= first && first <= '9') && '0' <= last && last <= '9' && json.Valid(x)
}

// kinds says what a string and a []byte is in a column of a type, of which different databases have different names.
func kinds(typeName string) (text, bytes source.Kind) {
	name, _, _ := strings.Cut(strings.ToUpper(typeName), "(")
	name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSuffix(name, " UNSIGNED"), "UNSIGNED "))
	switch name {
	case "INT", "INTEGER", "TINYINT", "SMALLINT", "MEDIUMINT", "BIGINT", "INT2", "INT4", "INT8",
		"DEC", "DECIMAL", "NUMERIC", "NUMBER", "REAL", "FLOAT", "FLOAT4", "FLOAT8", "DOUBLE", "DOUBLE PRECISION":
		return source.Number, source.Number
	case "JSON", "JSONB":
		return source.JSON, source.JSON
	case "DATE", "TIME", "TIMETZ", "DATETIME", "TIMESTAMP", "TIMESTAMPTZ", "INTERVAL", "YEAR",
		"ENUM", "SET", "NAME", "UUID", "XML":
		return source.Text, source.Text
	}
	for _, part := range []string{"CHAR", "TEXT", "CLOB"} {
		if strings.Contains(name, part) {
			return source.Text, source.Text
		}
	}
	return source.Text, source.Bytes
}
