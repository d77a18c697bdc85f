package untyped

import (
	"encoding/json"
	"testing"

	"culvert/source"
)

func TestKeys(t *testing.T) {
	for _, test := range []struct {
		text string
		kind source.Kind
		want string
	}{
		{"a \"b\"\n", source.Text, `"a \"b\"\u000a"`},
		{"1.50", source.Number, `"1.50"`},
		{"t", source.Bool, `"true"`},
		{"f", source.Bool, `"false"`},
		{"t", source.Text, `"t"`},
		{"\xff\x00", source.Bytes, `"\\xff00"`},
		{"", source.Bytes, `"\\x"`},
	} {
		n := Nested{Text: []byte("{" + test.text)}
		n.EndKey(1, test.kind)
		if got := string(n.Text); got != "{"+test.want+":" || !json.Valid(append(n.Text, "0}"...)) {
			t.Errorf("%q of %v becomes %s, not %s", test.text, test.kind, got, test.want)
		}
	}
}
