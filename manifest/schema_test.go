package manifest_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"culvert/manifest"
	"culvert/source"
)

func TestStatements(t *testing.T) {
	for _, want := range [][]source.Statement{
		nil,
		{{SQL: "CREATE TABLE t (a text DEFAULT '<\x01\n\"')"}, {SQL: "CREATE INDEX i ON t (a)", After: true}},
	} {
		var text bytes.Buffer
		if err := manifest.WriteStatements(&text, want); err != nil {
			t.Fatal(err)
		}
		var got []source.Statement
		err := manifest.ReadStatements(&text, func(one source.Statement) error {
			got = append(got, one)
			return nil
		})
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v becomes %+v, error %v", want, got, err)
		}
	}
}

// endless repeats a text.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

// TestHostileStatements has texts that no export writes, one of which does not end.
func TestHostileStatements(t *testing.T) {
	for _, text := range []string{
		"", "{}", "[]", `{"statements": {}}`, `{"statements": [{}]}`, `{"statements": [{"sql": "a"}`,
		`{"statements": [], "more": 1}`, `{"statements": [{"sql": 1}]}`,
	} {
		err := manifest.ReadStatements(strings.NewReader(text), func(source.Statement) error { return nil })
		if !errors.Is(err, manifest.ErrInvalid) {
			t.Errorf("%s: error %v", text, err)
		}
	}
	enough := errors.New("enough")
	read := 0
	err := manifest.ReadStatements(
		io.MultiReader(strings.NewReader(`{"statements": [{"sql": "a"}`), endless(`,{"sql":"a"}`)),
		func(source.Statement) error {
			if read++; read == 1000 {
				return enough
			}
			return nil
		})
	if !errors.Is(err, enough) {
		t.Errorf("a text that does not end: %v", err)
	}
}
