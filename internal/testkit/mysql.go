package testkit

import (
	"bytes"
	"fmt"
	"os"

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
	sequence  = lazyregexp.New(`\bseq_([0-9]+)_to_([0-9]+)\b`)
)

// forMySQL returns statements as MySQL understands them.
func forMySQL(sql string) string {
	if MySQL() == "" {
		return sql
	}
	sql = orReplace.ReplaceAllString(sql, "DROP $1 IF EXISTS $2; CREATE $1 $2")
	return sequence.ReplaceAllString(sql, "(WITH RECURSIVE numbers(seq) AS (SELECT ${1} UNION ALL SELECT seq + 1 "+
		"FROM numbers WHERE seq < ${2}) SELECT seq FROM numbers) AS seq_${1}_to_${2}")
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
