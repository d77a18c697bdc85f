package sqldb

import (
	"bytes"
	"cmp"
	"database/sql/driver"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"culvert/source"
)

// maxDepth is how deep values may be nested.
const maxDepth = 100

var errDeep = fmt.Errorf("the value is nested more than %d deep", maxDepth)

// scanOther appends a value of a type that a [driver.Value] should not have: by the methods of the type or of a pointer
// to it, or otherwise by its kind.
func (v *value) scanOther(src any) error {
	x := reflect.ValueOf(src)
	pointer := x
	switch {
	case x.Kind() != reflect.Pointer:
		pointer = reflect.New(x.Type())
		pointer.Elem().Set(x)
	case x.IsNil():
		return v.scan(nil)
	default:
		x = x.Elem()
	}
	switch p := pointer.Interface().(type) {
	case *time.Time:
		return v.scan(*p)
	case *time.Duration:
		v.scratch = appendDuration(v.scratch[:0], *p)
		v.append(source.Text, v.scratch)
	case *json.RawMessage:
		v.append(source.JSON, *p)
	case *json.Number:
		v.scratch = append(v.scratch[:0], *p...)
		v.append(source.Number, v.scratch)
	case *big.Int:
		v.scratch = p.Append(v.scratch[:0], 10)
		v.append(source.Number, v.scratch)
	case *big.Float:
		v.scratch = v.appendBigFloat(v.scratch[:0], p)
		v.append(source.Number, v.scratch)
	case driver.Valuer:
		inner, err := p.Value()
		if err != nil {
			return err
		}
		return v.scanDeeper(inner)
	case encoding.TextMarshaler:
		text, err := p.MarshalText()
		if err != nil {
			return err
		}
		v.append(v.text, text)
	case json.Marshaler:
		text, err := p.MarshalJSON()
		if err != nil {
			return err
		}
		v.append(source.JSON, text)
	case fmt.Stringer:
		v.scratch = append(v.scratch[:0], p.String()...)
		v.append(v.text, v.scratch)
	default:
		return v.scanKind(x)
	}
	return nil
}

// scanDeeper appends a value that is nested in another one.
func (v *value) scanDeeper(src any) error {
	if v.depth >= maxDepth {
		return errDeep
	}
	v.depth++
	defer func() { v.depth-- }()
	return v.scan(src)
}

// appendBigFloat appends a number with the scale of the column, or otherwise with the fewest digits that are exact at
// its precision. It uses an exponent only to avoid many zeros.
func (v *value) appendBigFloat(dst []byte, x *big.Float) []byte {
	if v.scale > 0 {
		return x.Append(dst, 'f', v.scale)
	}
	if exponent := x.MantExp(nil); exponent < -256 || exponent > 256 {
		return x.Append(dst, 'g', -1)
	}
	return x.Append(dst, 'f', -1)
}

func (v *value) scanKind(x reflect.Value) error {
	kind, bytes := x.Kind(), false
	if kind == reflect.Slice || kind == reflect.Array {
		bytes = x.Type().Elem().Kind() == reflect.Uint8
	}
	switch {
	case x.CanInt():
		v.batch.AppendInt(x.Int())
	case x.CanUint():
		v.scratch = strconv.AppendUint(v.scratch[:0], x.Uint(), 10)
		v.append(source.Number, v.scratch)
	case kind == reflect.Float32:
		v.appendSingle(float32(x.Float()))
	case kind == reflect.Float64:
		v.appendFloat(x.Float())
	case kind == reflect.Bool:
		v.appendBool(x.Bool())
	case kind == reflect.String:
		v.scratch = append(v.scratch[:0], x.String()...)
		v.append(v.text, v.scratch)
	case kind == reflect.Pointer || kind == reflect.Interface:
		if x.IsNil() {
			return v.scan(nil)
		}
		return v.scanDeeper(x.Elem().Interface())
	case bytes && kind == reflect.Slice:
		return v.appendBytes(x.Bytes())
	case bytes:
		b := make([]byte, x.Len())
		reflect.Copy(reflect.ValueOf(b), x)
		return v.appendBytes(b)
	default:
		return v.scanContainer(x)
	}
	return nil
}

func unknownType(t reflect.Type) error {
	return fmt.Errorf("the driver returns a value of type %s, which needs a Config.Convert", t)
}

// scanContainer appends a list, map or struct as JSON.
func (v *value) scanContainer(x reflect.Value) (err error) {
	text := v.scratch[:0]
	switch kind := x.Kind(); {
	case (kind == reflect.Map || kind == reflect.Slice) && x.IsNil():
		return v.scan(nil)
	case kind == reflect.Map:
		text, err = v.appendMap(text, x)
	case kind == reflect.Slice || kind == reflect.Array:
		text, err = v.appendList(text, x)
	case kind == reflect.Struct:
		text, err = v.appendStruct(text, x)
	default:
		err = unknownType(x.Type())
	}
	if err != nil {
		return err
	}
	v.scratch = text
	v.batch.Append(source.JSON, text)
	return nil
}

func (v *value) appendList(text []byte, x reflect.Value) (_ []byte, err error) {
	text = append(text, '[')
	for i := range x.Len() {
		if i > 0 {
			text = append(text, ',')
		}
		if text, err = v.appendInner(text, x.Index(i)); err != nil {
			return nil, err
		}
	}
	return append(text, ']'), nil
}

func (v *value) appendMap(text []byte, x reflect.Value) ([]byte, error) {
	type entry struct {
		key   string
		value reflect.Value
	}
	var entries []entry
	for key, value := range x.Seq2() {
		_, name, err := v.scanInner(key)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{string(name), value})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	text = append(text, '{')
	for i, e := range entries {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(appendString(text, e.key), ':')
		var err error
		if text, err = v.appendInner(text, e.value); err != nil {
			return nil, err
		}
	}
	return append(text, '}'), nil
}

// appendStruct appends the exported fields by their JSON names. A struct without any is an error.
func (v *value) appendStruct(text []byte, x reflect.Value) ([]byte, error) {
	before := byte('{')
	for i := range x.NumField() {
		field := x.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !field.IsExported() || name == "-" {
			continue
		}
		text = append(appendString(append(text, before), cmp.Or(name, field.Name)), ':')
		before = ','
		var err error
		if text, err = v.appendInner(text, x.Field(i)); err != nil {
			return nil, err
		}
	}
	if before == '{' {
		return nil, unknownType(x.Type())
	}
	return append(text, '}'), nil
}

// scanInner reads a value that is nested in a value of this column. The text is valid until the next call.
func (v *value) scanInner(x reflect.Value) (source.Kind, []byte, error) {
	if v.depth >= maxDepth {
		return 0, nil, errDeep
	}
	if v.inner == nil {
		v.inner = &value{batch: new(source.Batch), columnType: typeOf(v.element)}
		v.inner.batch.SetLimit(1)
	}
	v.inner.depth = v.depth + 1
	b := v.inner.batch
	b.Reset(1)
	if err := v.inner.scan(x.Interface()); err != nil {
		return 0, nil, err
	}
	b.EndRow()
	kind, text := b.Value(0, 0)
	return kind, text, nil
}

// appendInner appends a value that is nested in a value of this column, as JSON.
func (v *value) appendInner(dst []byte, x reflect.Value) ([]byte, error) {
	kind, text, err := v.scanInner(x)
	switch {
	case err != nil:
		return nil, err
	case kind == source.Null:
		return append(dst, "null"...), nil
	case kind == source.Bool:
		return strconv.AppendBool(dst, string(text) == "t"), nil
	case kind == source.Number && json.Valid(text), kind == source.JSON:
		return append(dst, text...), nil
	case kind == source.Bytes:
		dst = hex.AppendEncode(append(dst, `"\\x`...), text)
		return append(dst, '"'), nil
	}
	return appendString(dst, string(text)), nil
}

func appendString(dst []byte, s string) []byte {
	var quoted bytes.Buffer
	e := json.NewEncoder(&quoted)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // impossible for a string
	}
	return append(dst, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}
