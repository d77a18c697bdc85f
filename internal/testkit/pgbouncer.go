package testkit

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// PgBouncer starts a pooler in front of the server of a database, and returns how the database is reached through it.
// The mode is session or transaction; further settings are lines of its file. It ends with the test, however that ends.
func PgBouncer(tb testing.TB, db *PostgresDatabase, mode string, settings ...string) (connString string) {
	tb.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/pgbouncer")
	}
	if err != nil {
		Missing(tb, "PgBouncer", "apt-get install pgbouncer, or the like")
	}
	host, port, err := net.SplitHostPort(Address(tb))
	if err != nil {
		tb.Fatal(err)
	}
	directory := tb.TempDir()
	if err := os.Chmod(directory, 0o755); err != nil {
		tb.Fatal(err)
	}
	config, socket := filepath.Join(directory, "pgbouncer.ini"), db.Server.SocketPath()
	text := fmt.Sprintf(`[databases]
* = host=%s port=%s user=postgres
[pgbouncer]
listen_addr = %s
listen_port = %s
unix_socket_dir =
auth_type = any
pool_mode = %s
ignore_startup_parameters = extra_float_digits,options,search_path,statement_timeout,lock_timeout
`, filepath.Dir(socket), strings.TrimPrefix(filepath.Ext(socket), "."), host, port, mode)
	for _, setting := range settings {
		text += setting + "\n"
	}
	if os.Geteuid() == 0 {
		text += "user = nobody\n"
	}
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `"$0" "$1" & while read -r line; do :; done; kill -9 $!; wait`, program, config)
	stdin, stdout := StartPiped(tb, cmd)
	tb.Cleanup(func() {
		if err := errors.Join(stdin.Close(), cmd.Wait()); err != nil {
			tb.Log(err) // of the program that was killed
		}
		_ = stdout.Close()
	})
	connString = fmt.Sprintf("host=%s port=%s user=postgres dbname=%s sslmode=disable", host, port, db.Name)
	WaitFor(tb, "PgBouncer", func() bool {
		conn, err := pgconn.Connect(context.Background(), connString)
		return err == nil && conn.Close(context.Background()) == nil
	})
	return connString
}
