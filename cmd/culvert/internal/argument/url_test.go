package argument

import (
	"testing"

	"culvert/cmd/culvert/internal/command"
)

const someFingerprint = "o3yrhnomzr7jitk4wcyiozh6qtvjuemqperdi66n7hdcqkzv6hgq"

func TestParseRemoteURL(t *testing.T) {
	for text, want := range map[string]URL{
		"culvert://" + someFingerprint + "@db.example":            {someFingerprint, "db.example:28583", "."},
		"culvert://" + someFingerprint + "@db.example/":           {someFingerprint, "db.example:28583", "."},
		"culvert://" + someFingerprint + "@10.0.0.1:7/a/b/":       {someFingerprint, "10.0.0.1:7", "a/b"},
		"culvert://" + someFingerprint + "@[fd00::2]:7/a b%3F%25": {someFingerprint, "[fd00::2]:7", "a b?%"},
	} {
		u, err := ParseURL(text)
		if err != nil || *u != want {
			t.Errorf("%s: %+v, %v", text, u, err)
			continue
		}
		again, err := ParseURL(u.String())
		if err != nil || *again != want {
			t.Errorf("%s: its own form %s is %+v, %v", text, u, again, err)
		}
	}
	for _, text := range []string{
		"", "x", "http://" + someFingerprint + "@h/", "culvert://h/", "culvert://" + someFingerprint + "@/a",
		"culvert://" + someFingerprint + ":secret@h/", "culvert://" + someFingerprint + "@h/a?b",
		"culvert://" + someFingerprint + "@h/a#b", "culvert://" + someFingerprint + "@h/../a",
		"culvert://" + someFingerprint + "@h/a//b", "culvert://" + someFingerprint[1:] + "@h/", "culvert://%zz@h/",
	} {
		if u, err := ParseURL(text); command.ExitCode(err) != command.ExitUsage {
			t.Errorf("%q is %+v, %v", text, u, err)
		}
	}
}

func FuzzParseRemoteURL(f *testing.F) {
	f.Add("culvert://" + someFingerprint + "@db.example:7/a%20b")
	f.Add("culvert://" + someFingerprint + "@[fd00::2%25eth0]/a")
	f.Fuzz(func(t *testing.T, text string) {
		u, err := ParseURL(text)
		if err != nil {
			return
		}
		if again, err := ParseURL(u.String()); err != nil || *again != *u {
			t.Errorf("%q is %+v, and its own form %q is %+v, %v", text, u, u, again, err)
		}
	})
}
