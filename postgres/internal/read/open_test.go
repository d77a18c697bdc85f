package read_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/postgres/internal/read"
	"culvert/source"
)

// clearEnvironment keeps the environment of the developer out of a test.
func clearEnvironment(t *testing.T) {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "PG") {
			t.Setenv(name, "")
		}
	}
	t.Setenv("HOME", t.TempDir())
}

// TestPassword connects by all ways to give a password, and with wrong ones.
func TestPassword(t *testing.T) {
	clearEnvironment(t)
	const password = `r:i/g@h t'?\`
	server := testkit.NewPostgres(t, testkit.PostgresConfig{Password: password})
	host, port, err := net.SplitHostPort(server.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	passFile := filepath.Join(t.TempDir(), "pass")
	escaped := strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(password)
	if err := os.WriteFile(passFile, []byte("*:*:*:*:"+escaped+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	serviceFile := filepath.Join(t.TempDir(), "service")
	service := fmt.Sprintf("[here]\nhost=%s\nport=%s\nuser=postgres\ndbname=postgres\n", host, port)
	if err := os.WriteFile(serviceFile, []byte(service), 0o600); err != nil {
		t.Fatal(err)
	}
	address := url.URL{
		Scheme: "postgres", User: url.UserPassword("postgres", password), Host: server.Address(t), Path: "/postgres",
	}
	quoted := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(password)
	for _, test := range []struct {
		name, connString string
		environment      []string
	}{
		{"URL", address.String(), nil},
		{"keywords", fmt.Sprintf("host=%s port=%s user=postgres password='%s'", host, port, quoted), nil},
		{"PGPASSWORD", "postgres://postgres@" + server.Address(t) + "/postgres", []string{"PGPASSWORD", password}},
		{"PGPASSFILE", "user=postgres", []string{"PGHOST", host, "PGPORT", port, "PGPASSFILE", passFile}},
		{"PGSERVICE", "", []string{"PGSERVICE", "here", "PGSERVICEFILE", serviceFile, "PGPASSWORD", password}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for i := 0; i < len(test.environment); i += 2 {
				t.Setenv(test.environment[i], test.environment[i+1])
			}
			if err := open(t, test.connString).Close(); err != nil {
				t.Error(err)
			}
		})
	}
	for name, connString := range map[string]string{
		"wrong":   fmt.Sprintf("postgres://postgres:s3cr3t@%s/postgres", server.Address(t)),
		"missing": fmt.Sprintf("postgres://postgres@%s/postgres", server.Address(t)),
	} {
		_, err := read.Open(context.Background(), connString)
		if !errors.Is(err, source.ErrUnavailable) || !strings.Contains(err.Error(), "password") ||
			strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s password: %v", name, err)
		}
	}
}

func TestUnavailable(t *testing.T) {
	clearEnvironment(t)
	server := testkit.Postgres(t)
	refusing := testkit.Address(t)
	other := testkit.Greeter(t, "N220 mail.example.com\r\n") // refuses TLS, and is no PostgreSQL
	for _, test := range []struct{ name, connString, want string }{
		{"no socket", "user=s3cr3t-not host=" + t.TempDir(), "no such file or directory"},
		{"no server", "postgres://u:s3cr3t@" + refusing + "/d", "connection refused"},
		{"no database", server.ConnString("nowhere"), `database "nowhere" does not exist`},
		{"keywords with a URL", "host=" + t.TempDir() + " application_name=http://a/b@c", "no such file or directory"},
		{"no role", server.ConnString("postgres") + " user=stranger", `role "stranger" does not exist`},
		{"no PostgreSQL", "postgres://u:s3cr3t@" + other + "/d?sslmode=disable", "cannot connect"},
		{"no TLS", "postgres://u:s3cr3t@" + other + "/d?sslmode=require", "refused TLS"},
	} {
		_, err := read.Open(context.Background(), test.connString)
		if !errors.Is(err, source.ErrUnavailable) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		if strings.Contains(fmt.Sprintf("%v %+v", err, err), ":s3cr3t") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// TestErrorsHoldNoPassword gives connection strings that are wrong, with a password at all places that one comes to
// stand by mistake.
func TestErrorsHoldNoPassword(t *testing.T) {
	clearEnvironment(t)
	for _, connString := range []string{
		"postgres://u:s3cr3t@localhost:port/d",
		"postgres://u:s3cr3t@[::1/d",
		"postgres://u:s3cr3t@localhost:1/d?sslmode=nonsense",
		"postgres://u:s3cr3t@localhost:1/d?connect_timeout=s3cr3t",
		"postgres://u:s3cr3t@localhost:1/d?password=s3cr3t&",
		"postgres://u:s3cr3t%zz@localhost:1/d",
		"postgres://u:p@s3cr3t@localhost:1/d",
		"postgres://u:12/s3cr3t@localhost:1/d",
		"postgres://u:p/s3cr3t@localhost:1/d",
		"postgres://u:p?s3cr3t@localhost:1/d",
		"postgres://u:p#s3cr3t@localhost:1/d?port=x",
		"postgres://u:1?s3cr3t/x@localhost:1/d",
		"postgres://u:s3cr3t:x@localhost:1:1/d",
		"postgres:/u:s3cr3t@localhost:1/d",
		"postgres//u:s3cr3t@localhost:1/d",
		"u:s3cr3t@localhost",
		"host=localhost port=x password=s3cr3t",
		"host=localhost port=1 password=a s3cr3t",
		"host=localhost port=1 password='s3cr3t",
		"host=localhost port=1 password=s3cr3t sslmode=nonsense",
		"host=localhost port=1 password=s3cr3t sslcert=nowhere sslkey=nowhere sslmode=require",
		"host=localhost port=1 password=s3cr3t service=nowhere",
		"host=localhost port=1 password=s3cr3t target_session_attrs=nonsense",
		"host=localhost port=1 sslpassword=s3cr3t sslrootcert=nowhere",
		"password s3cr3t",
		"s3cr3t",
	} {
		db, err := read.Open(context.Background(), connString)
		if err == nil {
			t.Errorf("Open(%q) did not fail: %v", connString, db.Close())
			continue
		}
		for cause := err; cause != nil; cause = errors.Unwrap(cause) {
			if text := fmt.Sprintf("%v %+v %#v", cause, cause, cause); strings.Contains(text, "s3cr3t") {
				t.Errorf("Open(%q): %s", connString, text)
			}
		}
	}
}

func TestConfigurationErrors(t *testing.T) {
	clearEnvironment(t)
	for _, test := range []struct{ connString, want string }{
		{"postgres://localhost:x/d", "invalid port"},
		{"postgres://localhost/d?sslmode=nonsense", "failed to configure TLS: sslmode is invalid"},
		{"service=nowhere", "failed to read service"},
		{"host", "failed to parse as keyword/value"},
		{"postgres://u:p@ss@localhost/d", "%40"},
		{"postgres://localhost/d?target_session_attrs=x", "unknown target_session_attrs value"},
	} {
		_, err := read.Open(context.Background(), test.connString)
		if err == nil || errors.Is(err, source.ErrUnavailable) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Open(%q): %v, want %q", test.connString, err, test.want)
		}
	}
}
