package dialect_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"culvert/internal/testkit"
	"culvert/sink/dialect"
	"culvert/source"
)

func TestCheckCondition(t *testing.T) {
	const postgres, mysql, lite = source.PostgreSQL, source.MariaDB, source.SQLite
	for _, test := range []struct {
		condition string
		right     []source.Dialect // the others refuse it
	}{
		{"id = 1) or (1 = 1", nil},
		{"id = 1 or (1 = 1", nil},
		{"id = 1 or 1 = 1)", nil},
		{"id in (1, (2)) -- the ) first", []source.Dialect{postgres, mysql, lite}},
		{"name = ')'' (' or \"a)\" = 1 /* ) */", []source.Dialect{postgres, mysql, lite}},
		{"name = 'it", nil},
		{"\"name = 1", nil},
		{"id = 1 /* all", nil},
		{"id = 1 /* /* ) */", []source.Dialect{mysql, lite}},
		{"id = 1 /* /* */ ) */", []source.Dialect{postgres}},
		{"`a)` = 1", []source.Dialect{mysql, lite}},
		{"[a)] = 1", []source.Dialect{lite}},
		{"id = 1 # )", []source.Dialect{mysql}},
		{"id = 3 --1) or (1 = 1", []source.Dialect{postgres, lite}},
		{"id = 3 -- 1\r) or (1 = 1", []source.Dialect{mysql, lite}},
		{`name = '\' or (1 = 1)`, []source.Dialect{postgres, lite}},
		{`name = 'C:\\' or (1 = 1)`, []source.Dialect{postgres, mysql, lite}},
		{`name = E'\') or (1 = 1'`, []source.Dialect{postgres}},
		{"name = E'a'\n'\\') or (1 = 1'", []source.Dialect{postgres}},
		{"name = $$)$$ or a$$ = $_1$ ( $$ $_1$", []source.Dialect{postgres}},
		{"id = $1 or (id = $2)", []source.Dialect{postgres}}, // whoever reads it refuses parameters
		{"id = @a(')+(')", []source.Dialect{postgres, mysql}},
		{"id = 1 /*!50000 ) or ( */", []source.Dialect{postgres, lite}},
		{"id = 1 /*M! ) or ( */", []source.Dialect{postgres, lite}},
		{"", []source.Dialect{postgres, mysql, lite}},
	} {
		right := map[source.Dialect]bool{}
		for _, one := range test.right {
			right[one] = true
		}
		for _, one := range []source.Dialect{postgres, mysql, lite} {
			if err := dialect.CheckCondition(one, test.condition); (err == nil) != right[one] {
				t.Errorf("the condition %s of %s: %v", test.condition, one, err)
			}
		}
	}
}

// FuzzCheckCondition looks for conditions that pass, and that SQLite takes in parentheses but not alone.
func FuzzCheckCondition(f *testing.F) {
	conn, err := sqlite3.Open(":memory:")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := conn.Close(); err != nil {
			f.Error(err)
		}
	})
	for _, text := range pieces {
		f.Add("a " + text + " 1) or (1" + text)
	}
	f.Fuzz(func(t *testing.T, condition string) {
		for _, d := range []source.Dialect{source.PostgreSQL, source.MySQL} {
			_ = dialect.CheckCondition(d, condition)
		}
		if strings.ContainsRune(condition, 0) || dialect.CheckCondition(source.SQLite, condition) != nil {
			return
		}
		if prepares(conn, inParentheses(condition)) && !prepares(conn, alone(condition)) {
			t.Errorf("%q passes, and is right only in parentheses", condition)
		}
	})
}

func prepares(conn *sqlite3.Conn, sql string) bool {
	stmt, rest, err := conn.Prepare(sql)
	return err == nil && stmt != nil && stmt.Close() == nil && strings.TrimSpace(rest) == ""
}

func alone(condition string) string {
	return "SELECT 1 FROM (SELECT 1 AS a) AS t WHERE " + condition + "\n"
}

func inParentheses(condition string) string { return alone("1 = 0 AND (" + condition + "\n)") }

// pieces are what conditions of tests consist of, in a random order.
var pieces = []string{
	"a", "1", "=", " or ", " and ", "(", ")", ") or (", "'", "''", "'x'", `\`, `\'`, `"`, "`", "[", "]", "--", "-- ",
	"#", "\n", "\r", "/*", "*/", "/*!", "$", "$$", "$a$", "E'", "e'", "N'", "U&'", "@", ":", " ", "1 = 1", "é", "a$",
	"::int",
}

// randomConditions returns conditions that pass. Most of them consist of something that is right, and of what may not
// be.
func randomConditions(d source.Dialect, most int) (passed []string) {
	ends := []string{"", " or 1 = 1", ") or (1 = 1", "'", "*/", "\n) or (1 = 1", "' = '' or (a = 1)"}
	random := rand.New(rand.NewPCG(1, 2))
	for range most {
		condition := "a = 1"
		for range 1 + random.IntN(8) {
			condition += pieces[random.IntN(len(pieces))]
		}
		condition += ends[random.IntN(len(ends))]
		if dialect.CheckCondition(d, condition) == nil {
			passed = append(passed, condition)
		}
	}
	return passed
}

// TestConditionsOfServers looks for conditions that pass, and that a server takes in parentheses but not alone.
func TestConditionsOfServers(t *testing.T) {
	t.Run("postgres", func(t *testing.T) {
		db := testkit.Postgres(t).NewDatabase(t)
		db.Exec(t, `CREATE FUNCTION runs(sql text) RETURNS bool LANGUAGE plpgsql AS $do$
			BEGIN EXECUTE sql; RETURN true; EXCEPTION WHEN OTHERS THEN RETURN false; END $do$`)
		literal := func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
		passed := randomConditions(source.PostgreSQL, 20000)
		calls := make([]string, len(passed))
		for i, condition := range passed {
			calls[i] = fmt.Sprintf("(%d, runs(%s), runs(%s))", i, literal(inParentheses(condition)),
				literal(alone(condition)))
		}
		right := 0
		for i, row := range db.Query(t, "VALUES "+strings.Join(calls, ", ")) {
			if row[1] == "t" {
				right++
			}
			if row[1] == "t" && row[2] != "t" {
				t.Errorf("%q passes, and is right only in parentheses", passed[i])
			}
		}
		if right == 0 {
			t.Error("no condition is right")
		}
	})
	t.Run("mariadb", func(t *testing.T) {
		db := testkit.MariaDB(t).NewDatabase(t)
		right := 0
		for _, condition := range randomConditions(source.MariaDB, 5000) {
			if db.Try(inParentheses(condition)) != nil {
				continue
			}
			if right++; db.Try(alone(condition)) != nil {
				t.Errorf("%q passes, and is right only in parentheses", condition)
			}
		}
		if right == 0 {
			t.Error("no condition is right")
		}
	})
}
