package wire

import (
	"crypto/tls"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseOptions(t *testing.T) {
	got := parseOptions(`
user=nobody
[mysqld]
user = mysql
[client]
# a comment
; another
!includedir /etc/mysql/conf.d
user = me   # the rest is a comment
  host=db.example
PORT
password = "a # b\tc\"d"
ssl_ca='/with space/ca.pem'
socket=/tmp/my\ssock
empty=
quote="
[client-other]
host=other
[client]
port=3307`)
	want := []option{
		{"user", "me"},
		{"host", "db.example"},
		{"PORT", ""},
		{"password", "a # b\tc\"d"},
		{"ssl-ca", "/with space/ca.pem"},
		{"socket", "/tmp/my sock"},
		{"empty", ""},
		{"quote", `"`},
		{"port", "3307"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTLSMode expects the same of options in both orders.
func TestTLSMode(t *testing.T) {
	const refused = ""
	for _, test := range []struct{ a, b, want string }{
		{"user=u", "password=p", sslPreferred},
		{"ssl-mode=preferred", "ssl", sslRequired},
		{"ssl-mode=required", "ssl", sslRequired},
		{"ssl-mode=required", "enable-ssl-verify-server-cert", sslVerifyIdentity},
		{"ssl", "ssl-verify-server-cert=ON", sslVerifyIdentity},
		{"ssl-ca=file", "ssl-verify-server-cert", sslVerifyIdentity},
		{"loose_ssl_ca=file", "ssl=1", sslVerifyCA},
		{"ssl-ca=file", "disable-ssl-verify-server-cert", sslVerifyCA},
		{"ssl-ca=file", "ssl-mode=REQUIRED", sslRequired},
		{"skip-ssl=0", "skip-ssl-verify-server-cert=0", sslVerifyIdentity},
		{"loose-skip-ssl", "loose-ssl-nonsense=1", sslDisabled},
		{"ssl=off", "ssl-mode=disabled", sslDisabled},
		{"tls-version=TLSv1.2,TLSv1.3", "ssl-verify-server-cert=0", sslPreferred},
		{"skip-ssl", "ssl-verify-server-cert", refused},
		{"ssl-mode=REQUIRED", "ssl=0", refused},
		{"ssl-mode=DISABLED", "ssl", refused},
		{"ssl-verify", "user=u", refused},
		{"ssl-capath=/etc", "user=u", refused},
		{"tls-ciphersuites=X", "user=u", refused},
		{"tls-version=TLSv1.1", "user=u", refused},
		{"tls-version=nonsense", "user=u", refused},
		{"ssl=maybe", "user=u", refused},
	} {
		for _, text := range []string{test.a + "\n" + test.b, test.b + "\n" + test.a} {
			s, got := &Settings{}, ""
			var err error
			for _, o := range parseOptions("[client]\n" + text) {
				if err == nil {
					err = s.set(o.name, o.value)
				}
			}
			if err == nil {
				got, err = s.tls.finalMode("tcp")
			}
			if got != test.want || (err != nil) != (test.want == refused) {
				t.Errorf("%q gives the mode %q and the error %v, want %q", text, got, err, test.want)
			}
		}
	}
}

func TestTLSVersion(t *testing.T) {
	for value, want := range map[string][2]uint16{
		"TLSv1.2,TLSv1.3":  {tls.VersionTLS12, tls.VersionTLS13},
		"tlsv1.3, TLSv1.2": {tls.VersionTLS12, tls.VersionTLS13},
		"TLSv1.3":          {tls.VersionTLS13, tls.VersionTLS13},
		"TLSv1.1,TLSv1.2":  {tls.VersionTLS12, tls.VersionTLS12},
	} {
		s := &Settings{host: "h"}
		if err := s.set("tls-version", value); err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		config, _, err := s.TLS()
		if err != nil || config.MinVersion != want[0] || config.MaxVersion != want[1] {
			t.Errorf("%s gives %+v and the error %v", value, config, err)
		}
	}
}

// TestPort has no port stand for the usual one.
func TestPort(t *testing.T) {
	s := &Settings{host: "h", port: "1"}
	if err := s.set("port", "0"); err != nil {
		t.Error(err)
	}
	if _, address := s.Server(); address != "h:3306" {
		t.Errorf("port=0 leads to %s", address)
	}
}

func TestFiles(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	file, other := filepath.Join(home, ".my.cnf"), filepath.Join(home, "other.cnf")
	if err := os.WriteFile(file, []byte("[client]\nssl-cert=c.pem\nssl-key=k.pem\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(other, []byte("[client]\nssl-ca=a.pem\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string][]string{
		"":                                  {file, "c.pem", "k.pem"},
		"mysql://h/?ssl-ca=b":               {file, "b", "c.pem", "k.pem"},
		"mysql://h/?socket=s":               {file, "c.pem", "k.pem"},
		"mysql://h/?nonsense=s":             nil,
		"mysql://h/?defaults-file=" + other: {other, "a.pem"},
		"mysql://h/?ssl-cert=x&defaults-file=" + other:     {other, "a.pem", "x"},
		"mysql://h/?ssl-key=x&defaults-file=" + home + "/": {"x"},
	} {
		if got := Files(address); !slices.Equal(got, want) {
			t.Errorf("Files(%q) = %q, want %q", address, got, want)
		}
	}
}

// FuzzParseOptions writes a value into an option file as the manual says, and expects it back, whatever else is there.
func FuzzParseOptions(f *testing.F) {
	f.Add("[mysqld]\nx=1\n", `p"a#s's\w`)
	f.Add("[client]\nloose", "\t\n\r\b ")
	f.Add("[client", "")
	f.Fuzz(func(t *testing.T, before, value string) {
		if strings.ContainsAny(value, "\x00") {
			return
		}
		escaped := strings.NewReplacer(
			`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\b", `\b`,
		).Replace(value)
		got := parseOptions(before + "\n[client]\npassword=\"" + escaped + "\"\n")
		if len(got) == 0 || got[len(got)-1] != (option{"password", value}) {
			t.Errorf("%q is read as %q", value, got)
		}
		for _, o := range parseOptions(before) {
			if strings.ContainsAny(o.name, "=\n") {
				t.Errorf("%q has an option of the name %q", before, o.name)
			}
		}
	})
}

// FuzzResolve expects each part of a URL where it belongs, and no part of a wrong one in an error.
func FuzzResolve(f *testing.F) {
	f.Add("me", "p@ss/w:rd?#", "db name", "mysql://me:pw@host:1/db?ssl-mode=REQUIRED")
	f.Add("", "", "", "mysql:///?x")
	f.Fuzz(func(t *testing.T, user, password, database, text string) {
		t.Setenv("HOME", "/nowhere")
		for _, name := range []string{"MYSQL_HOST", "MYSQL_TCP_PORT", "MYSQL_UNIX_PORT", "MYSQL_PWD"} {
			t.Setenv(name, "")
		}
		if s, err := Resolve(text); err == nil && text != "" {
			if network, address := s.Server(); network == "" || address == "" {
				t.Errorf("%q leads to %s %q", text, network, address)
			}
		}
		if user == "" {
			return
		}
		u := url.URL{
			Scheme: "mysql", User: url.UserPassword(user, password), Host: "host:1",
			Path: "/" + database, RawPath: "/" + strings.ReplaceAll(url.PathEscape(database), "@", "%40"),
		}
		s, err := Resolve(u.String())
		if err != nil {
			t.Fatalf("%s: %v", u.String(), err)
		}
		if s.User != user || s.Password != password || s.Database != database || s.host != "host" || s.port != "1" {
			t.Errorf("%s is read as %+v", u.String(), s)
		}
	})
}
