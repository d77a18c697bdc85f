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
	"culvert/mysql/internal/read"
	"culvert/source"
)

// newHome returns the test a home directory.
func newHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	return home
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPassword connects by all ways to give a password, and with wrong ones.
func TestPassword(t *testing.T) {
	const password = `r:i/g#h t'?\`
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{Password: password})
	host, port, err := net.SplitHostPort(server.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	quoted := `"` + strings.ReplaceAll(password, `\`, `\\`) + `"`
	full := url.URL{
		Scheme: "mysql", User: url.UserPassword("root", password), Host: server.Address(t), Path: "/mysql",
	}
	plain := "mysql://root@" + server.Address(t) + "/mysql"
	for _, test := range []struct {
		name, address string
		file          string // ~/.my.cnf
		environment   []string
	}{
		{"URL", full.String(), "[client]\npassword=wrong\n", []string{"MYSQL_PWD", "wrong"}},
		{"MYSQL_PWD", plain, "", []string{"MYSQL_PWD", password}},
		{"option file", "mariadb://root@" + server.Address(t), "[client]\npassword = " + quoted + "\n", nil},
		{
			"all of it in the option file", "",
			fmt.Sprintf("[client]\nhost=%s\nport=%s\nuser=root\npassword=%s\nprotocol=tcp\n", host, port, quoted),
			[]string{"MYSQL_HOST", "nowhere.invalid", "MYSQL_PWD", "wrong"},
		},
		{"all of it in the environment", "mysql://root@", "", []string{
			"MYSQL_HOST", host, "MYSQL_TCP_PORT", port, "MYSQL_PWD", password,
		}},
		{"socket in the option file", "mysql://root@localhost/", "[client]\nsocket=" + server.SocketPath(), []string{
			"MYSQL_PWD", password,
		}},
		{"socket in the environment", "mysql://root@", "", []string{
			"MYSQL_UNIX_PORT", server.SocketPath(), "MYSQL_PWD", password,
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			home := newHome(t)
			writeFile(t, filepath.Join(home, ".my.cnf"), test.file)
			for i := 0; i < len(test.environment); i += 2 {
				t.Setenv(test.environment[i], test.environment[i+1])
			}
			if err := open(t, test.address).Close(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("no home", func(t *testing.T) {
		t.Setenv("HOME", os.DevNull)
		t.Setenv("MYSQL_PWD", password)
		if err := open(t, plain).Close(); err != nil {
			t.Error(err)
		}
	})
	home := newHome(t)
	file := filepath.Join(home, "other file.cnf")
	writeFile(t, file, "[client]\npassword="+quoted+"\n")
	if err := open(t, plain+"?defaults-file="+url.QueryEscape(file)).Close(); err != nil {
		t.Error("defaults-file:", err)
	}
	for name, address := range map[string]string{
		"wrong":   fmt.Sprintf("mysql://root:s3cr3t@%s/mysql", server.Address(t)),
		"missing": plain,
	} {
		_, err := read.Open(context.Background(), address)
		if !errors.Is(err, source.ErrUnavailable) || !strings.Contains(err.Error(), "Access denied") ||
			strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s password: %v", name, err)
		}
	}
}

func TestTLS(t *testing.T) {
	home := newHome(t)
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{Password: "pw", TLS: true})
	without := testkit.NewMariaDB(t, testkit.MariaDBConfig{Password: "pw"})
	t.Setenv("MYSQL_PWD", "pw")
	_, port, err := net.SplitHostPort(server.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	ca := "ssl-ca=" + server.CAFile()
	for _, test := range []struct {
		address, query, file string
		encrypted            bool
		fails                string
	}{
		{server.Address(t), "", "", true, ""},
		{server.Address(t), "ssl-mode=DISABLED", "", false, ""},
		{server.Address(t), "ssl-mode=required", "", true, ""},
		{server.Address(t), ca, "", true, ""},
		{server.Address(t), ca + "&ssl-mode=VERIFY_IDENTITY", "", true, ""},
		{"localhost:" + port, ca, "", true, ""},
		{"localhost:" + port, ca + "&ssl-mode=VERIFY_IDENTITY", "", false, "certificate"},
		{server.Address(t), "ssl-mode=VERIFY_CA", "", false, "certificate"},
		{server.Address(t), "ssl-mode=VERIFY_IDENTITY", "", false, "certificate"},
		{server.Address(t), "", "ssl-verify-server-cert", false, "certificate"},
		{server.Address(t), "", "ssl_ca=" + server.CAFile() + "\nssl-verify-server-cert", true, ""},
		{server.Address(t), "", "skip-ssl", false, ""},
		{server.Address(t), "", "ssl=0", false, ""},
		{server.Address(t), "", "ssl-verify-server-cert\nssl", false, "certificate"},
		{server.Address(t), "", "loose-ssl-mode=VERIFY_IDENTITY\nssl=1", false, "certificate"},
		{server.Address(t), "ssl-mode=DISABLED", "ssl-verify-server-cert", false, ""},
		{without.Address(t), "", "", false, ""},
		{without.Address(t), "ssl-mode=REQUIRED", "", false, "no TLS"},
		{without.Address(t), ca, "", false, "no TLS"},
		{without.Address(t), "", "ssl", false, "no TLS"},
	} {
		writeFile(t, filepath.Join(home, ".my.cnf"), "[client]\n"+test.file+"\n")
		db, err := read.Open(context.Background(), "mysql://root@"+test.address+"/mysql?"+test.query)
		if err != nil || test.fails != "" {
			if test.fails == "" || !errors.Is(err, source.ErrUnavailable) ||
				!strings.Contains(err.Error(), test.fails) {
				t.Errorf("%s?%s with %q: %v, want %q", test.address, test.query, test.file, err, test.fails)
			}
			if err == nil {
				t.Error(db.Close())
			}
			continue
		}
		status := "information_schema.SESSION_STATUS"
		if testkit.MySQL() != "" {
			status = "performance_schema.session_status"
		}
		rows := query(t, db, "SELECT VARIABLE_VALUE <> '' FROM "+status+" WHERE VARIABLE_NAME = 'Ssl_cipher'")
		var b source.Batch
		if err := rows.Next(&b); err != nil {
			t.Fatal(err)
		}
		if _, got := b.Value(0, 0); (string(got) == "1") != test.encrypted {
			t.Errorf("%s?%s with %q: encrypted is %s, want %v",
				test.address, test.query, test.file, got, test.encrypted)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestUnavailable(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	refusing := testkit.Address(t)
	for _, test := range []struct{ name, address, want string }{
		{"no socket", "mysql://u:s3cr3t@localhost/d?socket=/nowhere", "no such file or directory"},
		{"no server", "mysql://u:s3cr3t@" + refusing + "/d", "connection refused"},
		{"no database", strings.Replace(database.URL(), database.Name, "nowhere", 1), "Unknown database 'nowhere'"},
		{"no user", strings.Replace(database.URL(), "root", "stranger:s3cr3t", 1), "Access denied for user 'stranger'"},
		{"no MySQL", "mysql://u:s3cr3t@" + testkit.Greeter(t, "220 mail.example.com\r\n") + "/d", "cannot connect"},
		{
			"a broken greeting", "mysql://u:s3cr3t@" + testkit.Greeter(t, "\x01\x00\x00\x00\x0a") + "/d",
			"not a MySQL server",
		},
		{"silence", "mysql://u:s3cr3t@" + silent(t) + "/d?connect-timeout=1", "no answer within 1s"},
	} {
		_, err := read.Open(context.Background(), test.address)
		if !errors.Is(err, source.ErrUnavailable) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
		if strings.Contains(fmt.Sprintf("%v %+v", err, err), "s3cr3t") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := read.Open(ctx, database.URL()); !errors.Is(err, context.Canceled) {
		t.Errorf("with a canceled context: %v", err)
	}
}

// silent is a server that accepts connections and says nothing. It returns the address.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String()
}

// TestErrorsHoldNoPassword gives addresses that are wrong, with a password at all places that one comes to stand by
// mistake.
func TestErrorsHoldNoPassword(t *testing.T) {
	home := newHome(t)
	file := filepath.Join(home, "file")
	writeFile(t, file, "[client]\npassword=s3cr3t\nport=s3cr3t\n")
	for _, address := range []string{
		"mysql://u:s3cr3t@localhost:port/d",
		"mysql://u:s3cr3t@[::1/d",
		"mysql://u:s3cr3t@localhost:1/d?ssl-mode=nonsense",
		"mysql://u:s3cr3t@localhost:1/d?connect-timeout=s3cr3t",
		"mysql://u:s3cr3t@localhost:1/d?password=s3cr3t",
		"mysql://u@localhost:1/d?s3cr3t=1",
		"mysql://u:s3cr3t%zz@localhost:1/d",
		"mysql://u:p@s3cr3t@localhost:1/d",
		"mysql://u:12/s3cr3t@localhost:1/d",
		"mysql://u:p/s3cr3t@localhost:1/d",
		"mysql://u:p?s3cr3t@localhost:1/d",
		"mysql://u:1?s3cr3t@localhost:1/d",
		"mysql://u:p#s3cr3t@localhost:1/d",
		"mysql://u:1#s3cr3t@localhost:1/d",
		"mysql://u:s3cr3t:x@localhost:1:1/d",
		"mysql://u:s3cr3t@localhost:1/d/e",
		"mysql://u:s3cr3t@localhost:1/d?ssl-ca=/nowhere",
		"mysql://u:s3cr3t@localhost:1/d?ssl-ca=" + file,
		"mysql://u:s3cr3t@localhost:1/d?ssl-cert=/nowhere",
		"mysql://u:s3cr3t@localhost:1/d?defaults-file=/nowhere",
		"mysql://u@localhost:1/d?defaults-file=" + file,
		"mysql:/u:s3cr3t@localhost:1/d",
		"mysql:u:s3cr3t@localhost:1/d",
		"postgres://u:s3cr3t@localhost:1/d",
		"u:s3cr3t@tcp(localhost)/d",
		"s3cr3t",
	} {
		db, err := read.Open(context.Background(), address)
		if err == nil {
			t.Errorf("Open(%q) did not fail: %v", address, db.Close())
			continue
		}
		for cause := err; cause != nil; cause = errors.Unwrap(cause) {
			if text := fmt.Sprintf("%v %+v %#v", cause, cause, cause); strings.Contains(text, "s3cr3t") {
				t.Errorf("Open(%q): %s", address, text)
			}
		}
	}
}

func TestConfigurationErrors(t *testing.T) {
	home := newHome(t)
	loose := filepath.Join(home, "loose")
	writeFile(t, loose, "[client]\n")
	if err := os.Chmod(loose, 0o606); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(home, "large")
	writeFile(t, large, strings.Repeat("# much\n", 200_000))
	wrong := filepath.Join(home, "wrong")
	writeFile(t, wrong, "[client]\nssl_mode=maybe\n")
	crl := filepath.Join(home, "crl")
	writeFile(t, crl, "[client]\nssl-crl=revoked.pem\n")
	contrary := filepath.Join(home, "contrary")
	writeFile(t, contrary, "[client]\nssl-verify-server-cert\nskip-ssl\n")
	for _, test := range []struct{ address, want string }{
		{"mysql://localhost:99999/d", "the port"},
		{"mysql://localhost/d?ssl-mode=nonsense", "option ssl-mode of the address"},
		{"mysql://localhost/d?protocol=pipe", "option protocol"},
		{"mysql://localhost/d?ssl-mode=REQUIRED&ssl-mode=DISABLED", "repeated"},
		{"mysql://localhost/d?nonsense=1", "options are connect-timeout, defaults-file,"},
		{"mysql://u:p/x@localhost/d", "%40"},
		{"mysql://localhost/d?defaults-file=" + home + "/nowhere", "no such file"},
		{"mysql://localhost/d?defaults-file=" + loose, "chmod o-w"},
		{"mysql://localhost/d?defaults-file=" + large, "larger than"},
		{"mysql://localhost/d?defaults-file=" + wrong, "option ssl-mode in " + wrong},
		{"mysql://localhost/d?defaults-file=" + crl, "option ssl-crl in " + crl},
		{"mysql://localhost/d?defaults-file=" + contrary, "contradict each other"},
	} {
		_, err := read.Open(context.Background(), test.address)
		if err == nil || errors.Is(err, source.ErrUnavailable) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Open(%q): %v, want %q", test.address, err, test.want)
		}
	}
	t.Setenv("MYSQL_TCP_PORT", "x")
	_, err := read.Open(context.Background(), "mysql:///")
	if err == nil || !strings.Contains(err.Error(), "MYSQL_TCP_PORT") {
		t.Errorf("a wrong port in the environment: %v", err)
	}
}
