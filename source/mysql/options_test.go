package mysql

import (
	"net/url"
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
		if s, err := resolve(text); err == nil && text != "" {
			if network, address := s.place(); network == "" || address == "" {
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
		s, err := resolve(u.String())
		if err != nil {
			t.Fatalf("%s: %v", u.String(), err)
		}
		if s.user != user || s.password != password || s.database != database || s.host != "host" || s.port != "1" {
			t.Errorf("%s is read as %+v", u.String(), s)
		}
	})
}
