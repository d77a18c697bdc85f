package database

import (
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/cmd/culvert/internal/command"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Database{
		"postgres://me@host/db":   {Engine: "postgres", address: "postgres://me@host/db"},
		"postgresql://host":       {Engine: "postgres", address: "postgresql://host"},
		"postgres:":               {Engine: "postgres", address: ""},
		"postgres:service=shop":   {Engine: "postgres", address: "service=shop"},
		"mysql://me@host/db":      {Engine: "mysql", address: "mysql://me@host/db"},
		"mariadb://host":          {Engine: "mysql", address: "mariadb://host"},
		"mysql:":                  {Engine: "mysql", address: ""},
		"mariadb:":                {Engine: "mysql", address: ""},
		"sqlite:some file":        {Engine: "sqlite", address: "some file"},
		"shop.db":                 {Engine: "sqlite", address: "shop.db"},
		"dir/SHOP.SQLite3":        {Engine: "sqlite", address: "dir/SHOP.SQLite3"},
		`C:\data\shop.sqlite`:     {Engine: "sqlite", address: `C:\data\shop.sqlite`},
		"sqlite:postgres://a:b@c": {Engine: "sqlite", address: "postgres://a:b@c"},
	} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "shop", "sqlite:", "oracle://host/db", "mysql:host=h", "postgresql:x", "host=h dbname=d",
	} {
		if got, err := Parse(text); command.ExitCode(err) != command.ExitUsage || len(command.HintsOf(err)) == 0 {
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
		d, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		e, is := d.engine().(server)
		if got := is && e.hasPassword(d.address); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestWithPassword(t *testing.T) {
	const password = `it's "a\b" @/:?#&= %41`
	for _, text := range []string{
		"postgres://me@host/db", "postgresql://me@host:1,host2/db?sslmode=disable", "postgres:",
		"postgres:host=h user=me",
	} {
		d, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		address, err := d.engine().(server).withPassword(d.address, password)
		if err != nil {
			t.Fatal(err)
		}
		if config, err := pgconn.ParseConfig(address); err != nil || config.Password != password {
			t.Errorf("%q becomes %q, which has the password %q: %v", text, address, config.Password, err)
		}
	}
	for _, text := range []string{"mysql:", "mysql://me@host/db?ssl-mode=DISABLED", "mariadb://host"} {
		d, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		address, err := d.engine().(server).withPassword(d.address, password)
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := u.User.Password(); got != password {
			t.Errorf("%q becomes %q, which has another password: %v", text, address, err)
		}
	}
}

func FuzzHasPassword(f *testing.F) {
	f.Add("postgres://me:pw@host/db")
	f.Add("postgres:password=pw")
	f.Add("mysql://me:pw@host/db")
	f.Fuzz(func(t *testing.T, text string) {
		// A source that is taken for free of passwords is shown as it is.
		d, err := Parse(text)
		if err != nil || d.Engine == "sqlite" || d.engine().(server).hasPassword(d.address) ||
			command.IdentityKey.MatchString(text) || command.PrivateKey.MatchString(text) {
			return
		}
		var s command.Secrets
		if got := s.Redact(d.address); got != d.address {
			t.Errorf("%q is said to hold no password, and yet it is redacted to %q", d.address, got)
		}
	})
}

func TestNotSource(t *testing.T) {
	for text, want := range map[string]string{
		"shop":                       `"shop" is not a database`,
		"oracle://me:pw@host/db":     `"oracle://…" is not a database`,
		"mysql:password=pw":          "this is not a database",
		"me:pw@host://db":            "this is not a database",
		"db:5432:shop:me:pw":         "this is not a database",
		"host=h password=pw":         "this is not a database",
		"a pass phrase":              "this is not a database",
		"postgresql:password=pw":     "this is not a database",
		"postgresql:host=h\tuser=me": "this is not a database",
	} {
		_, err := Parse(text)
		err = notSource(text, err)
		if err.Error() != want || command.ExitCode(err) != command.ExitUsage || len(command.HintsOf(err)) != 2 {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
