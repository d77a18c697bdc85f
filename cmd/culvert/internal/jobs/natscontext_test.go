package jobs

import (
	"strings"
	"testing"
)

func TestDecodeContext(t *testing.T) {
	for text, want := range map[string]natsContext{
		`{}`: {},
		`{"description":"jobs","url":"nats://host","user":"me","password":"pw","nsc":"","tls_first":false}`: {
			URL: "nats://host", User: "me", Password: "pw",
		},
		`{"token":"t","creds":"file:///c","nkey":"~/n","ca":"ca","cert":"cert","key":"key"}`: {
			Token: "t", Creds: "file:///c", Nkey: "~/n", CA: "ca", Cert: "cert", Key: "key",
		},
	} {
		if got, err := decodeContext([]byte(text)); err != nil || got != want {
			t.Errorf("%s is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "[]", `"url"`, `{"url":5}`, `{"password":"secret77"`, `{"password":["secret77"]}`, `{"tls_first":true}`,
		`{"jetstream_domain":"hub"}`, `{"user_seed":"secret77"}`, `{"creds":"op://secret77"}`,
	} {
		if got, err := decodeContext([]byte(text)); err == nil || strings.Contains(err.Error(), "secret77") {
			t.Errorf("%s is %+v, %v; want an error that does not repeat it", text, got, err)
		}
	}
}

func FuzzDecodeContext(f *testing.F) {
	f.Add([]byte(`{"url":"nats://host","creds":"~/user.creds","nsc":""}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := decodeContext(text); err == nil {
			// Without its user, a context would connect as nobody.
			if user := c.user(); user == nil && (c.User != "" || c.Token != "") {
				t.Errorf("%q has no user", text)
			}
		}
	})
}

func TestExpand(t *testing.T) {
	t.Setenv("CERTIFICATES", "/etc/nats")
	t.Setenv("HOME", "/home/me")
	for path, want := range map[string]string{
		"ca.pem": "ca.pem", "~/ca.pem": "/home/me/ca.pem", "$CERTIFICATES/ca.pem": "/etc/nats/ca.pem",
		"file:///ca.pem": "/ca.pem", "file://~/ca.pem": "/home/me/ca.pem", "~you/ca.pem": "~you/ca.pem",
		"~": "/home/me",
	} {
		if got, err := expand(path); err != nil || got != want {
			t.Errorf("%q is %q, %v; want %q", path, got, err, want)
		}
	}
}
