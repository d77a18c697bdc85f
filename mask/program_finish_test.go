package mask_test

import (
	"fmt"
	"strings"
	"testing"

	"culvert/mask"
	"culvert/source"
)

// TestProgramFinish has a program that dies after its last answer known before the rows are used, by whoever asks.
func TestProgramFinish(t *testing.T) {
	for _, test := range []struct{ script, err string }{
		{upper, ""},
		{`read -r line; echo "$line"`, "it ended before it had answered"},
		{`read -r line; echo "$line"; kill -9 $$`, "it ended before it had answered: signal: killed"},
		{`read -r line; echo "$line"; exit 7`, "it ended before it had answered: exit status 7"},
		{`read -r line; echo "$line"; read -r line; echo '["a"]'; exec cat`, "answered more than it was asked"},
		{`read -r line; echo "$line"; read -r line; echo; exec cat`, "no array of strings in JSON"},
	} {
		m, programs := programmed(t.Context(), t, column(t, "text", "string"), test.script)
		var dst source.Batch
		if err := m.Finish(); err != nil { // which starts none
			t.Fatal(err)
		}
		if err := m.Mask(&dst, batchOf(source.Text, "secret")); err != nil {
			t.Fatal(err)
		}
		err := m.Finish()
		if (err == nil) != (test.err == "") || err != nil && (!strings.Contains(err.Error(), test.err) ||
			!strings.Contains(err.Error(), `cannot be masked by the rule "program own": `)) {
			t.Errorf("%s: the error is %v", test.script, err)
		}
		// It was said, and is not said again; what comes next starts another one.
		if err := programs.End(); err != nil {
			t.Errorf("%s: the end: %v", test.script, err)
		}
	}
}

// TestProgramFailsOthers has what was masked before a program failed not be used, whoever has seen the failure.
func TestProgramFailsOthers(t *testing.T) {
	programs := mask.NewPrograms(t.Context(), map[string]string{
		"own": script(t, `read -r line; echo '["a"]'; read -r line; echo '["b"]'; echo '["c"]'; exec cat`),
	})
	t.Cleanup(func() { _ = programs.End() })
	p := &mask.Policy{Key: testKey(t, keyText), Programs: programs, Tables: map[string]mask.Rules{}}
	var maskers [2]*mask.Masker
	for i, table := range []string{"t", "u"} {
		c := column(t, "text", "string")
		p.Tables[table] = mask.Rules{c.Name: rule(t, "program own")}
		var err error
		if maskers[i], err = p.Masker(table, []source.Column{c, {Name: "other"}}); err != nil {
			t.Fatal(err)
		}
	}
	var dst source.Batch
	if err := maskers[0].Mask(&dst, batchOf(source.Text, "x")); err != nil {
		t.Fatal(err)
	}
	var failed error
	for i := 0; failed == nil && i < 3; i++ { // the line too many may be seen late
		failed = maskers[1].Mask(&dst, batchOf(source.Text, fmt.Sprint(i)))
	}
	if failed == nil {
		t.Fatal("the line too many was not seen")
	}
	if err := maskers[0].Finish(); err == nil {
		t.Error("the rows that were masked before may be used")
	}
}
