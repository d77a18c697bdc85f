package convert_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"culvert/convert"
	"culvert/source"
)

// FuzzConvert converts any text by each rule. What a rule has made of it, the same rule keeps, but for numbers that
// became timestamps.
func FuzzConvert(f *testing.F) {
	rules := []string{
		"zero-date null", "nul strip", "nul error", "empty null", "trim", "cast integer", "cast decimal",
		"cast boolean", "cast timestamp", "default x", "epoch seconds", "epoch millis", "epoch julian",
	}
	for _, text := range []string{
		"", " a\x00b ", "0000-00-00 00:00:00", "+007.50", "Yes", "2026-01-31T10:00Z", "31.01.2026 9:00 +0130",
		"20260131T1000-02", "2026-01-31 10:00:00,5 UTC", "-1700000000.25", "2440587.5", "1e9",
	} {
		for i := range rules {
			f.Add([]byte(text), uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, which uint8) {
		rule := rules[int(which)%len(rules)]
		converter := newConverter(t, "", rule)
		convertOne := func(kind source.Kind, value []byte) (source.Kind, []byte, error) {
			var batch, got source.Batch
			batch.Reset(2)
			batch.AppendNull()
			if kind == source.Null {
				batch.AppendNull()
			} else {
				batch.Append(kind, value)
			}
			batch.EndRow()
			if err := converter.Convert(&got, &batch); err != nil {
				return 0, nil, err
			}
			kind, value = got.AnyValue(0, 1)
			return kind, bytes.Clone(value), nil
		}
		kind, once, err := convertOne(source.Text, text)
		if err != nil {
			if wrong, is := errors.AsType[*convert.ValueError](err); !is || wrong.Row != 1 || wrong.Column != "v" {
				t.Fatalf("%s of %q: %v", rule, text, err)
			}
			return
		}
		if strings.HasPrefix(rule, "epoch") {
			return
		}
		again, twice, err := convertOne(kind, once)
		if err != nil || !bytes.Equal(once, twice) || rule != "default x" && again != kind {
			t.Errorf("%s of %q is %q, and of that %q, %v", rule, text, once, twice, err)
		}
	})
}
