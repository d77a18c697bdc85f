package testkit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/go-sql-driver/mysql"

	"culvert/internal/lazyregexp"
)

// mySQLVariable has the path of a program mysqld. If it is set, the tests of MariaDB run with that MySQL.
const mySQLVariable = "CULVERT_TEST_MYSQL"

// MySQL returns the path of the program mysqld with which tests run in place of MariaDB, or "".
func MySQL() string { return os.Getenv(mySQLVariable) }

// hasMariaDB reports whether there is a MariaDB server, or what takes its place.
func hasMariaDB() bool {
	return MySQL() != "" || mariaDBProgram("mariadbd") != "" && mariaDBProgram("mariadb-install-db") != ""
}

// mySQLOptions are those that MariaDB does not need, or has by default.
var mySQLOptions = []string{
	"--innodb-redo-log-capacity=8M", "--mysqlx=OFF", "--secure-file-priv=", "--disable-log-bin", "--local-infile=ON",
	"--sql-mode=STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION",
	"--cte-max-recursion-depth=1000000",
}

// What tests write of the SQL of MariaDB, and MySQL lacks.
var (
	orReplace = lazyregexp.New("CREATE OR REPLACE (TABLE|TRIGGER) (`[^`]+`|\\w+)")
	sequence  = lazyregexp.New(`\bseq_([0-9]+)_to_([0-9]+)(?:_step_([0-9]+))?\b`)
)

// ForMySQL returns statements as MySQL understands them.
func ForMySQL(sql string) string {
	if MySQL() == "" {
		return sql
	}
	sql = orReplace.ReplaceAllString(sql, "DROP $1 IF EXISTS $2; CREATE $1 $2")
	return sequence.ReplaceAllStringFunc(sql, func(name string) string {
		found := sequence.FindStringSubmatch(name)
		return fmt.Sprintf("(WITH RECURSIVE numbers(seq) AS (SELECT %s UNION ALL SELECT seq + %s FROM numbers"+
			" WHERE seq + %[2]s <= %s) SELECT seq FROM numbers) AS %s", found[1], cmp.Or(found[3], "1"), found[2], name)
	})
}

// lacking are the errors of MySQL for SQL that only MariaDB has: other syntax, variables, functions, storage engines,
// tables of information_schema, and JSON that is a text.
var lacking = []uint16{1064, 1109, 1178, 1193, 1286, 1305, 3109, 3140}

// NeedsMariaDB skips a test on MySQL, which has another way.
func NeedsMariaDB(tb testing.TB, what string) {
	tb.Helper()
	if MySQL() != "" {
		tb.Skip("only MariaDB has " + what)
	}
}

// skipForMySQL skips a test whose own statement only MariaDB understands.
func skipForMySQL(tb testing.TB, err error) {
	tb.Helper()
	if refused, ok := errors.AsType[*mysql.MySQLError](err); ok && MySQL() != "" &&
		slices.Contains(lacking, refused.Number) {
		tb.Skipf("the test is in the SQL of MariaDB: %v", err)
	}
}

// initializeMySQL makes the data of MySQL.
func (s *MariaDBServer) initializeMySQL() error {
	args := []string{"--initialize-insecure", "--innodb-redo-log-capacity=8M"}
	return fromTemplate(s.data(), MySQL(), args, func(data string) error {
		// --no-defaults comes first.
		first := []string{"--no-defaults", "--datadir=" + data, "--tmpdir=" + s.temporary(), "--secure-file-priv="}
		install := s.command(MySQL(), append(first, args...)...)
		if output, err := install.CombinedOutput(); err != nil {
			return fmt.Errorf("mysqld --initialize-insecure: %w\n%s", err, bytes.TrimSpace(output))
		}
		return nil
	})
}
