package load

import (
	"errors"
	"strings"
	"testing"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
)

func TestAboutTable(t *testing.T) {
	for _, test := range []struct{ table, text, want string }{
		{"t", "permission denied", `table "t": permission denied`},
		{"t", `table "t" does not exist`, `table "t" does not exist`},
		{"t", `table "public.t": ERROR: denied`, `table "public.t": ERROR: denied`},
		{"public.t", `table "public"."t": the table is not empty`, `table "public"."t": the table is not empty`},
		{"t", "load t: table \"public\".\"t\", row 1: a", `table "public"."t", row 1: a`},
		{"t", "counting the rows of table `d`.`t`: denied", "counting the rows of table `d`.`t`: denied"},
		{"t", `table "other": the table is not empty`, `table "t": table "other": the table is not empty`},
		{"t", `a.db: table "t": the table exists`, `a.db: table "t": the table exists`},
		{"public.t", `table "t" has no columns`, `table "public.t" has no columns`},
		{"public.t", `table "t": no columns`, `table "public.t": no columns`},
		{"t", `lost: making table "t": denied`, `table "t": lost: making table "t": denied`},
		{"t", `a.db: lost: table "t"`, `table "t": a.db: lost: table "t"`},
	} {
		if got := aboutTable(test.table, test.text); got != test.want {
			t.Errorf("%q of %q: %s", test.text, test.table, got)
		}
	}
}

// TestSharedHints says hints of several tables once, after those of one.
func TestSharedHints(t *testing.T) {
	var screen strings.Builder
	a := &command.App{Console: ui.NewConsole(&screen)}
	cause := errors.New("refused")
	reportFailures(a, []failure{
		{"a", command.WithHint(cause, "for all", "for a")},
		{"b", command.WithHint(cause, "for all", "for b")},
		{"c", cause},
	})
	want := "error: table \"a\": refused\nhint: for a\nerror: table \"b\": refused\nhint: for b\n" +
		"error: table \"c\": refused\nhint: for all\n"
	if got := strings.ReplaceAll(screen.String(), "culvert: ", ""); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
