package keyfile_test

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/plugin"

	"culvert/internal/keyfile"
)

func TestFingerprints(t *testing.T) {
	const other = "nukohsoyv6h5lkrz5aazw7doba34rqsnhpmqefkoi2owsqc3rxma"
	for _, test := range []struct {
		name, file string
		want       []string
		problem    string
	}{
		{"one", knownFingerprint + "\n", []string{knownFingerprint}, ""},
		{
			"names, comments, CRLF", "# team\r\n\r\n" + knownFingerprint + " Ada\r\n  " + other + "\tbackup\r\n",
			[]string{knownFingerprint, other},
			"",
		},
		{"twice", knownFingerprint + "\n" + knownFingerprint + "\n", []string{knownFingerprint}, ""},
		{"empty", "# nobody\n  \n", nil, "no fingerprint found"},
		{"a secret", knownFingerprint + "\n" + knownSecret + "\n", nil, "line 2 does not begin with a fingerprint"},
		{"upper case", strings.ToUpper(knownFingerprint) + "\n", []string{knownFingerprint}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := new(keyfile.Reader).Fingerprints(write(t, test.file))
			if !slices.Equal(got, test.want) || (err == nil) != (test.problem == "") {
				t.Fatalf("got %q, %v", got, err)
			}
			if err != nil && (!strings.HasSuffix(err.Error(), test.problem) || strings.Contains(err.Error(), "AGE-")) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// The key for connections is in whatever file the identity is in, if it shows its secret.
func TestKeyOf(t *testing.T) {
	for name, file := range map[string]string{
		"native": knownSecret, "behind a plugin": plugin.EncodeIdentity("test", nil) + "\n" + knownSecret,
		"encrypted": encrypted(t, knownSecret, passphrase, true),
	} {
		identities, err := interactive().Identities(write(t, file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		key, err := keyfile.KeyOf(identities)
		if err != nil || key.Fingerprint() != knownFingerprint {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := keyfile.KeyOf([]age.Identity{&keyfile.PassphraseIdentity{}}); err == nil {
		t.Error("a passphrase has a connection key")
	}
}

func ExampleReader_Fingerprints() {
	reader := keyfile.Reader{
		Stdin: func() (io.Reader, error) { return strings.NewReader("# team\n" + knownFingerprint + " Ada\n"), nil },
	}
	fingerprints, err := reader.Fingerprints("-")
	if err != nil {
		panic(err)
	}
	fmt.Println(fingerprints)
	// Output: [o3yrhnomzr7jitk4wcyiozh6qtvjuemqperdi66n7hdcqkzv6hgq]
}

func ExampleKeyOf() {
	reader := keyfile.Reader{
		Stdin: func() (io.Reader, error) { return strings.NewReader("# mine\n" + knownSecret + "\n"), nil },
	}
	identities, err := reader.Identities("-")
	if err != nil {
		panic(err)
	}
	key, err := keyfile.KeyOf(identities)
	if err != nil {
		panic(err)
	}
	fmt.Println(key.Fingerprint())
	// Output: o3yrhnomzr7jitk4wcyiozh6qtvjuemqperdi66n7hdcqkzv6hgq
}
