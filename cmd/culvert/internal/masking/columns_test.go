package masking

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestColumns(t *testing.T) {
	name := filepath.Join(t.TempDir(), "list")
	all := []string{"\"a.b\".\"c\"\"d\"", "\"x\ny\".z", "app.orders.\"Größe\"", "app.orders.id"}
	if err := WriteColumns(name, "job.yaml", all); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadColumns(name); err != nil || !slices.Equal(got, all) {
		t.Errorf("%q, %v", got, err)
	}
	for text, want := range map[string]string{
		"# x\r\nb.c\r\n\na.b \n": "a.b b.c", "A.b\n\"A\".b": `"A".b`, "": "", "größe.x": `"größe".x`,
	} {
		if got, err := parseColumns([]byte(text)); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"a", "a.b.c.d", "a..b", "a.", ".a.b", "<<<<<<< HEAD", "a.b c", "a.\"b", "a.\"b\"c", "a-b.c",
	} {
		if got, err := parseColumns([]byte("x.y\n" + text)); err == nil || !strings.HasPrefix(err.Error(), "line 2: ") {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
}

func FuzzColumns(f *testing.F) {
	for _, text := range []string{"a.b\n", "# x\n\"a\"\"\".\"\n\".c", "a.b.c\r\n\n", "\"\".\"\"", "ä.b"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parseColumns(text)
		if err != nil {
			return
		}
		again, err := parseColumns([]byte(strings.Join(all, "\n")))
		if err != nil || !slices.Equal(all, again) {
			t.Errorf("%q becomes %q, %v", all, again, err)
		}
	})
}
