package command

import (
	"errors"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	var s Secrets
	s.Add("correct horse")
	s.Add("abc")
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
		if got := s.Redact(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
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
		if got, err := FirstLine(strings.NewReader(text)); err != nil || got != want {
			t.Errorf("first line of %q is %q, %v", text, got, err)
		}
	}
	if _, err := FirstLine(strings.NewReader(strings.Repeat("x", 5000))); err == nil {
		t.Error("an endless line is accepted")
	}
	if _, err := FirstLine(strings.NewReader("x\n" + strings.Repeat("x", 5000))); err != nil {
		t.Errorf("a long file with a short first line: %v", err)
	}
}
