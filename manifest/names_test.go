package manifest_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"culvert/manifest"
)

func TestFileNames(t *testing.T) {
	for table, want := range map[string]string{
		"orders":                       "orders",
		"public.orders":                "public.orders",
		`"My Table"`:                   "My Table",
		"../../etc/passwd":             "__.._etc_passwd",
		"..":                           "_",
		"":                             "_",
		"-rf":                          "_rf",
		"~root":                        "_root",
		" lead":                        "_lead",
		"con":                          "_con",
		"Nul.backup":                   "_Nul.backup",
		"com10":                        "com10",
		"conin$":                       "_conin$",
		`a\b:c*d?e<f>g|h/i`:            "a_b_c_d_e_f_g_h_i",
		"line\nend\x00":                "line_end_",
		"größe ☂":                      "größe ☂",
		"\xff\xfe":                     "__",
		strings.Repeat("a", 999):       strings.Repeat("a", 150),
		strings.Repeat("ä", 75) + "ää": strings.Repeat("ä", 75),
	} {
		got := manifest.FileNames([]string{table}, ".csv")[0]
		if got != want+".csv" {
			t.Errorf("%q becomes %q, want %q", table, got, want)
		}
		if got != filepath.Base(got) || !filepath.IsLocal(got) {
			t.Errorf("%q becomes %q, which is not a plain name", table, got)
		}
	}
}

// TestFileNamesDiffer has names that would be the same, also one that is made to be so.
func TestFileNamesDiffer(t *testing.T) {
	tables := []string{"a", "A", `"a"`, "a-2", "ſ", "S", "s", "x/y", "x:y"}
	got := manifest.FileNames(tables, ".csv")
	want := []string{"a.csv", "A-2.csv", "a-3.csv", "a-2-2.csv", "ſ.csv", "S-2.csv", "s-3.csv", "x_y.csv", "x_y-2.csv"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := manifest.FileNames([]string{"Manifest"}, ".json")[0]; got == "Manifest.json" {
		t.Errorf("a table has the name of the manifest")
	}
}

// TestFileNamesAlike has so many names which are cut to the same that each cannot be compared with all others.
func TestFileNamesAlike(t *testing.T) {
	tables := make([]string, 100_000)
	for i := range tables {
		tables[i] = strings.Repeat("a", 150) + strconv.Itoa(i)
	}
	names := manifest.FileNames(tables, ".csv")
	slices.Sort(names)
	if different := len(slices.Compact(names)); different != len(tables) {
		t.Errorf("%d names for %d tables", different, len(tables))
	}
}

func FuzzFileNames(f *testing.F) {
	f.Add("../x", "..\\x")
	f.Add("a\x00b", "A\x00B")
	f.Fuzz(func(t *testing.T, one, other string) {
		names := manifest.FileNames([]string{one, other}, ".csv")
		for i, name := range names {
			if name != filepath.Base(name) || !filepath.IsLocal(name) || len(name) > 160 {
				t.Errorf("%q becomes %q", []string{one, other}[i], name)
			}
		}
		if strings.EqualFold(names[0], names[1]) {
			t.Errorf("%q and %q become the same: %q", one, other, names)
		}
		// What is made here can be read again.
		m := sample()
		m.Tables = m.Tables[:2]
		for i, name := range names {
			m.Tables[i].Parts[0].File = name
		}
		var text bytes.Buffer
		if _, err := m.WriteTo(&text); err != nil {
			t.Fatal(err)
		}
		if _, err := manifest.Read(&text); err != nil {
			t.Error(err)
		}
	})
}
