package testkit

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// MariaDBDatabase is a database of a [MariaDBServer].
type MariaDBDatabase struct {
	Server *MariaDBServer
	Name   string
}

// NewDatabase creates an empty database.
func (s *MariaDBServer) NewDatabase(tb testing.TB) *MariaDBDatabase {
	tb.Helper()
	db := &MariaDBDatabase{Server: s, Name: databaseName(s.databases.Add(1))}
	s.query(tb, "", "CREATE DATABASE "+db.Name)
	return db
}

// URL returns the URL of the database for root on the Unix socket, without the password.
func (db *MariaDBDatabase) URL() string {
	return "mysql://root@localhost/" + db.Name + "?socket=" + url.QueryEscape(db.Server.SocketPath())
}

// Exec runs SQL statements, separated by semicolons.
func (db *MariaDBDatabase) Exec(tb testing.TB, sql string) {
	tb.Helper()
	db.Server.query(tb, db.Name, sql)
}

// Try is Exec for statements that the server may refuse.
func (db *MariaDBDatabase) Try(sql string) error {
	_, err := db.Server.rows(db.Name, sql)
	return err
}

// Query runs an SQL statement and returns its rows as text, with NULL as "".
func (db *MariaDBDatabase) Query(tb testing.TB, sql string) [][]string {
	tb.Helper()
	return db.Server.query(tb, db.Name, sql)
}

// Client runs the command line client with additional arguments, such as "--raw", and returns its output.
func (db *MariaDBDatabase) Client(tb testing.TB, args ...string) []byte {
	tb.Helper()
	return db.run(tb, "mariadb", append(args, "--database="+db.Name)...)
}

// Dump returns what mariadb-dump prints of the schema, with all that it has beside the tables.
func (db *MariaDBDatabase) Dump(tb testing.TB) string {
	tb.Helper()
	return string(db.run(tb, "mariadb-dump",
		"--skip-comments", "--no-data", "--routines", "--events", "--triggers", db.Name))
}

// DumpRows returns what mariadb-dump prints of the schema and of the rows, each with a statement of its own.
func (db *MariaDBDatabase) DumpRows(tb testing.TB) string {
	tb.Helper()
	return string(db.run(tb, "mariadb-dump", "--skip-comments", "--routines", "--events", "--triggers", "--hex-blob",
		"--skip-extended-insert", "--single-transaction", db.Name))
}

// run runs a program of the client and returns its output.
func (db *MariaDBDatabase) run(tb testing.TB, program string, args ...string) []byte {
	tb.Helper()
	path := mariaDBProgram(program)
	if path == "" {
		Missing(tb, "the client of MariaDB", "apt-get install mariadb-client, or the like")
	}
	options := []string{
		"--no-defaults", "--socket=" + db.Server.SocketPath(), "--user=root", "--default-character-set=utf8mb4",
	}
	cmd := exec.Command(path, append(options, args...)...)
	cmd.Env = append(os.Environ(), "MYSQL_PWD="+db.Server.config.Password)
	output, err := cmd.Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %s", err, failed.Stderr)
		}
		tb.Fatalf("%s: %v", program, err)
	}
	return output
}

// connect connects as root on the Unix socket.
func (s *MariaDBServer) connect(ctx context.Context, database string) (driver.Conn, error) {
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName = "unix", s.SocketPath(), database
	config.User, config.Passwd = "root", s.config.Password
	config.MultiStatements, config.Logger = true, &mysql.NopLogger{}
	if err := config.Apply(mysql.Charset("utf8mb4", "")); err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return connector.Connect(ctx)
}

func (s *MariaDBServer) query(tb testing.TB, database, sql string) [][]string {
	tb.Helper()
	rows, err := s.rows(database, sql)
	if err != nil {
		skipForMySQL(tb, err)
		tb.Fatalf("%.200s: %v", sql, err)
	}
	return rows
}

// KillOthers ends all other connections that have opened the database.
func (db *MariaDBDatabase) KillOthers(tb testing.TB) {
	tb.Helper()
	WaitFor(tb, "other connections to end", func() bool {
		others := db.Query(tb, "SELECT ID FROM information_schema.PROCESSLIST"+
			" WHERE DB = DATABASE() AND ID <> CONNECTION_ID()")
		for _, row := range others {
			if err := db.Try("KILL " + row[0]); err != nil {
				tb.Log(err) // it has ended
			}
		}
		return len(others) == 0
	})
}

func (s *MariaDBServer) rows(database, sql string) (all [][]string, err error) {
	ctx := context.Background()
	conn, err := s.connect(ctx, database)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	result, err := conn.(driver.QueryerContext).QueryContext(ctx, ForMySQL(sql), nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	values := make([]driver.Value, len(result.Columns()))
	for {
		err := result.Next(values)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		row := make([]string, len(values))
		for i, value := range values {
			switch value := value.(type) {
			case nil:
			case []byte:
				row[i] = string(value)
			default:
				row[i] = fmt.Sprint(value)
			}
		}
		all = append(all, row)
	}
}

// setPassword sets root's password.
func (s *MariaDBServer) setPassword() error {
	if s.config.shared {
		return s.allowNetwork(Password)
	}
	password := s.config.Password
	if password == "" {
		return nil
	}
	s.config.Password = ""
	err := s.allowNetwork(password)
	if err == nil {
		set := "SET PASSWORD = PASSWORD(" + quoteSQL(password) + ")"
		if MySQL() != "" {
			set = "SET PASSWORD = " + quoteSQL(password)
		}
		_, err = s.rows("", set)
	}
	s.config.Password = password
	return err
}

// allowNetwork lets root in with a password over the network.
func (s *MariaDBServer) allowNetwork(password string) error {
	_, err := s.rows("", "DROP USER IF EXISTS root@'127.0.0.1'; CREATE USER root@'127.0.0.1' IDENTIFIED BY "+
		quoteSQL(password)+
		"; GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION")
	return err
}

func quoteSQL(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}

func (s *MariaDBServer) keyFile() string { return filepath.Join(s.directory, "key.pem") }

func (s *MariaDBServer) makeCertificate() error { return makeCertificate(s.CAFile(), s.keyFile()) }
