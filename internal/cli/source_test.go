package cli

import (
	"errors"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	var s secrets
	s.add("correct horse")
	s.add("abc")
	for text, want := range map[string]string{
		"nothing secret":                              "nothing secret",
		"the passphrase is correct horse!":            "the passphrase is ****!",
		"short ones, such as abc, would tell":         "short ones, such as abc, would tell",
		"postgres://me:pw@host/db failed":             "postgres://me:****@host/db failed",
		"postgres://me:p@w:x@host/db failed":          "postgres://me:****@host/db failed",
		"postgres://me@host:5432/db failed":           "postgres://me@host:5432/db failed",
		"postgres://:pw@host/db":                      "postgres://:****@host/db",
		"host=h password=pw dbname=d":                 "host=h password=**** dbname=d",
		"host=h password = 'p w\\'x' dbname=d":        "host=h password = **** dbname=d",
		"postgres://h/d?password=pw&sslpassword=key":  "postgres://h/d?password=****",
		`"host=h password=p\"w x=y"`:                  `"host=h password=**** x=y"`,
		"password=p'w x=y":                            "password=**** x=y",
		"password='never ends":                        "password=****",
		"password=one\\ word x=y":                     "password=**** x=y",
		"open AGE-SECRET-KEY-1QQQ: no such file":      "open AGE-SECRET-KEY-****: no such file",
		"age-secret-key-pq-1qqq":                      "age-secret-key-****",
		"a -----BEGIN OPENSSH PRIVATE KEY-----\nAAAA": "a -----BEGIN OPENSSH PRIVATE KEY-----****",
		"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY----- b": "-----BEGIN PRIVATE KEY-----****" +
			"-----END PRIVATE KEY----- b",
	} {
		if got := s.redact(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestParseSource(t *testing.T) {
	for text, want := range map[string]database{
		"postgres://me@host/db":   {"postgres", "postgres://me@host/db"},
		"postgresql://host":       {"postgres", "postgresql://host"},
		"postgres:":               {"postgres", ""},
		"postgres:service=shop":   {"postgres", "service=shop"},
		"mysql://me@host/db":      {"mysql", "mysql://me@host/db"},
		"mariadb://host":          {"mysql", "mariadb://host"},
		"mysql:":                  {"mysql", ""},
		"mariadb:":                {"mysql", ""},
		"sqlite:some file":        {"sqlite", "some file"},
		"shop.db":                 {"sqlite", "shop.db"},
		"dir/SHOP.SQLite3":        {"sqlite", "dir/SHOP.SQLite3"},
		`C:\data\shop.sqlite`:     {"sqlite", `C:\data\shop.sqlite`},
		"sqlite:postgres://a:b@c": {"sqlite", "postgres://a:b@c"},
	} {
		if got, err := parseSource(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "shop", "sqlite:", "oracle://host/db", "mysql:host=h", "postgresql:x", "host=h dbname=d",
	} {
		if got, err := parseSource(text); exitCode(err) != exitUsage || len(hintsOf(err)) == 0 {
			t.Errorf("%q is %v, %v; want an error of usage with a hint", text, got, err)
		}
	}
}

func TestHasPassword(t *testing.T) {
	for text, want := range map[string]bool{
		"postgres://me@host/db":                       false,
		"postgres://host/db?passfile=x":               false,
		"postgres:host=h passfile=/x user=password":   false,
		"sqlite:password=x":                           false,
		"postgres://me:pw@host/db":                    true,
		"postgres://me:@host/db":                      true,
		"postgres://host/db?password=pw":              true,
		"postgres://host/db?sslpassword=pw":           true,
		"postgres://me:p%zz@host/db":                  true,
		"postgres:password=pw":                        true,
		"postgres:host=h PASSWORD = pw":               true,
		"postgres:host=h\tsslpassword=pw":             true,
		"postgres:password=pw application_name=a://b": true,
		"postgres:application_name=a://b password=pw": true,
		"postgres:application_name=a://b":             false,
		"postgres:application_name=a://b:c@d":         true,
		"postgres:postgres://me:pw@host/db":           true,
		"postgresql://me:pw@host/db":                  true,
		"mysql:":                                      false,
		"mysql://me@host/db?ssl-ca=x":                 false,
		"mysql://me:pw@host/db":                       true,
		"mariadb://me:@host/db":                       true,
		"mysql://me@host/db?password=pw":              true,
		"mysql://me:p%zz@host/db":                     true,
	} {
		d, err := parseSource(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.hasPassword(); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func FuzzHasPassword(f *testing.F) {
	f.Add("postgres://me:pw@host/db")
	f.Add("postgres:password=pw")
	f.Add("mysql://me:pw@host/db")
	f.Fuzz(func(t *testing.T, text string) {
		// A source that is taken for free of passwords is shown as it is.
		d, err := parseSource(text)
		if err != nil || d.engine == "sqlite" || d.hasPassword() || identityKey.MatchString(text) ||
			privateKey.MatchString(text) {
			return
		}
		var s secrets
		if got := s.redact(d.address); got != d.address {
			t.Errorf("%q is said to hold no password, and yet it is redacted to %q", d.address, got)
		}
	})
}

func TestNotSource(t *testing.T) {
	for text, want := range map[string]string{
		"shop":                       `"shop" is not a source`,
		"oracle://me:pw@host/db":     `"oracle://…" is not a source`,
		"mysql:password=pw":          "this is not a source",
		"me:pw@host://db":            "this is not a source",
		"db:5432:shop:me:pw":         "this is not a source",
		"host=h password=pw":         "this is not a source",
		"a pass phrase":              "this is not a source",
		"postgresql:password=pw":     "this is not a source",
		"postgresql:host=h\tuser=me": "this is not a source",
	} {
		_, err := parseSource(text)
		if err = notSource(text, err); err.Error() != want || exitCode(err) != exitUsage || len(hintsOf(err)) != 2 {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// The start of what a command prints is kept, and no more of it.
func TestLineStart(t *testing.T) {
	var l lineStart
	for range 100 {
		if n, err := l.Write([]byte("one\n" + strings.Repeat("x", 1000))); n != 1004 || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(l.text) > lineLimit+1 || !strings.HasPrefix(string(l.text), "one\n") {
		t.Errorf("%d bytes are kept", len(l.text))
	}
	var endless lineStart
	block := []byte(strings.Repeat("x", 3000))
	for range 2 {
		if _, err := endless.Write(block); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := endless.Write(block); !errors.Is(err, errLongLine) || len(endless.text) > lineLimit+1 {
		t.Errorf("error is %v, with %d bytes kept", err, len(endless.text))
	}
}

func TestFirstLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "one": "one", "one\n": "one", "one\r\ntwo": "one", "two  words\n": "two  words", "\ntwo": "",
	} {
		if got, err := firstLine(strings.NewReader(text)); err != nil || got != want {
			t.Errorf("first line of %q is %q, %v", text, got, err)
		}
	}
	if _, err := firstLine(strings.NewReader(strings.Repeat("x", 5000))); err == nil {
		t.Error("an endless line is accepted")
	}
	if _, err := firstLine(strings.NewReader("x\n" + strings.Repeat("x", 5000))); err != nil {
		t.Errorf("a long file with a short first line: %v", err)
	}
}
