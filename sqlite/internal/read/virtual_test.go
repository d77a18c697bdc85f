package read

import (
	"maps"
	"testing"
)

// TestParseVirtual understands statements as FTS5 does.
func TestParseVirtual(t *testing.T) {
	type values = map[string]string
	for sql, want := range map[string]struct {
		module string
		values values
	}{
		"CREATE VIRTUAL TABLE t USING FTS5(a, b)":                               {"fts5", values{}},
		"CREATE VIRTUAL TABLE [a using] USING fts5(a,CONTENT=doc)":              {"fts5", values{"content": "doc"}},
		"CREATE VIRTUAL TABLE `a``b` using fts5(content = \"a\"\"b\")":          {"fts5", values{"content": `a"b`}},
		"CREATE VIRTUAL TABLE t USING -- fts4(\n fts5('content=x', cont='y,)')": {"fts5", values{"cont": "y,)"}},
		"CREATE VIRTUAL TABLE 'ü t' /* ( */ USING fts5(a UNINDEXED, content=[ü])": {
			"fts5", values{"content": "ü"},
		},
		"CREATE VIRTUAL TABLE t USING fts5(content='":         {"fts5", values{}},
		"CREATE VIRTUAL TABLE t USING fts5(content='')":       {"fts5", values{"content": ""}},
		"CREATE VIRTUAL TABLE t USING fts5(a, /* content='' ": {"fts5", values{}},
		"CREATE VIRTUAL TABLE t":                              {"", values{}},
	} {
		v := parseVirtual("t", sql)
		if v.module != want.module || !maps.Equal(v.values, want.values) {
			t.Errorf("%s: module %q, values %q", sql, v.module, v.values)
		}
	}
}

func FuzzParseVirtual(f *testing.F) {
	f.Add("CREATE VIRTUAL TABLE t USING fts5(a, content = \"d\"\"oc\", [x] -- c\n /* */)")
	f.Fuzz(func(t *testing.T, sql string) {
		if v := parseVirtual("t", sql); v.name != "t" {
			t.Error(v)
		}
		v := parseVirtual("t", "CREATE VIRTUAL TABLE t USING fts5("+sql)
		if _, outside := v.content(); outside && v.module != "fts5" {
			t.Error(v)
		}
	})
}
