package keyfile_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"

	"culvert/internal/keyfile"
)

// The secret is the one of age's own tests; the fingerprint was computed with openssl kdf, openssl pkey and base32.
const (
	knownSecret      = "AGE-SECRET-KEY-1EGTZVFFV20835NWYV6270LXYVK2VKNX2MMDKWYKLMGR48UAWX40Q2P2LM0"
	knownRecipient   = "age1xmwwc06ly3ee5rytxm9mflaz2u56jjj36s0mypdrwsvlul66mv4q47ryef"
	knownFingerprint = "o3yrhnomzr7jitk4wcyiozh6qtvjuemqperdi66n7hdcqkzv6hgq"
)

func TestFingerprintOfKnownKey(t *testing.T) {
	identity, err := age.ParseX25519Identity(knownSecret)
	if err != nil {
		t.Fatal(err)
	}
	key, err := keyfile.FromIdentity(identity)
	if err != nil {
		t.Fatal(err)
	}
	if got := key.Fingerprint(); got != knownFingerprint {
		t.Errorf("fingerprint is %s, want %s", got, knownFingerprint)
	}
	if got := key.RecipientString(); got != knownRecipient {
		t.Errorf("recipient is %s, want %s", got, knownRecipient)
	}
}

func TestJobSecretOfKnownKey(t *testing.T) {
	identity, err := age.ParseX25519Identity(knownSecret)
	if err != nil {
		t.Fatal(err)
	}
	key, err := keyfile.FromIdentity(identity)
	if err != nil {
		t.Fatal(err)
	}
	// computed with openssl kdf
	const want = "e79f3890c0cb641be2bb4b5d85b36fb9b7dfc630d07ff268c58b32c334ce51fd"
	if got := hex.EncodeToString(key.JobSecret()); got != want {
		t.Errorf("the secret is %s, want %s", got, want)
	}
}

func TestLowerCaseIdentityIsTheSameKey(t *testing.T) {
	identity, err := age.ParseX25519Identity(knownSecret)
	if err != nil {
		t.Fatal(err)
	}
	// Bech32 text may be all lower case; age's own parser refuses it by its prefix, so that the text in hand is
	// always the canonical one.
	if _, err := age.ParseX25519Identity(strings.ToLower(knownSecret)); err == nil {
		t.Error("a lower-case identity is accepted; the connection key must not depend on the case")
	}
	if identity.String() != knownSecret {
		t.Error("the canonical text differs from the text in the file")
	}
}

func TestCreatedFileIsReadByAge(t *testing.T) {
	for name, generate := range map[string]func() (*keyfile.Key, error){
		"x25519":       keyfile.Generate,
		"post-quantum": keyfile.GeneratePostQuantum,
	} {
		t.Run(name, func(t *testing.T) {
			key, err := generate()
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "new", "dir", "identity.txt")
			created := time.Date(2026, 2, 3, 9, 30, 0, 0, time.UTC)
			if err := key.Create(path, created); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{
				"# created: 2026-02-03T09:30:00Z\n",
				"# public key: " + key.RecipientString() + "\n",
				"# recipient: " + key.RecipientString() + "\n",
				"# fingerprint: " + key.Fingerprint() + "\n",
			} {
				if !bytes.Contains(text, []byte(want)) {
					t.Errorf("the file lacks %q:\n%s", want, text)
				}
			}
			identities, err := age.ParseIdentities(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			again, err := keyfile.FromIdentity(identities[0])
			if err != nil {
				t.Fatal(err)
			}
			if again.Fingerprint() != key.Fingerprint() || again.RecipientString() != key.RecipientString() {
				t.Error("the key that is read differs from the one that was written")
			}
		})
	}
}

func TestCreateIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	path := filepath.Join(t.TempDir(), "culvert", "identity.txt")
	create(t, path)
	for name, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
}

func TestCreateNeverOverwrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.txt")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := keyfile.Generate()
	if err != nil {
		t.Fatal(err)
	}
	if err := key.Create(path, time.Now()); !errors.Is(err, os.ErrExist) {
		t.Errorf("error is %v, want one that is os.ErrExist", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "precious" {
		t.Errorf("the file now holds %q, %v", text, err)
	}
	wantOnly(t, path)
}

// A link that leads nowhere is a name that is taken, too.
func TestCreateDoesNotFollowLinks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "identity.txt")
	if err := os.Symlink(filepath.Join(dir, "target"), path); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	key, err := keyfile.Generate()
	if err != nil {
		t.Fatal(err)
	}
	if err := key.Create(path, time.Now()); !errors.Is(err, os.ErrExist) {
		t.Errorf("error is %v, want one that is os.ErrExist", err)
	}
	wantOnly(t, path)
}

// Of several that make the same file one succeeds, and whoever sees the file sees all of it.
func TestConcurrentCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "identity.txt")
	var created atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		key, err := keyfile.Generate()
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			err := key.Create(path, time.Now())
			switch {
			case err == nil:
				created.Add(1)
			case !errors.Is(err, os.ErrExist):
				t.Errorf("error is %v, want one that is os.ErrExist", err)
			}
			if _, err := new(keyfile.Reader).Identities(path); err != nil {
				t.Errorf("the file is there, but not whole: %v", err)
			}
		})
	}
	all.Wait()
	if created.Load() != 1 {
		t.Errorf("%d of 4 have made the file, want 1", created.Load())
	}
	wantOnly(t, path)
}

// wantOnly checks that there is no other file in the directory of the path.
func wantOnly(t *testing.T, path string) {
	t.Helper()
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(files) != 1 || files[0].Name() != filepath.Base(path) {
		t.Errorf("in the directory: %v, %v", files, err)
	}
}

func TestDefaultPath(t *testing.T) {
	t.Setenv(keyfile.PathVariable, "")
	config := t.TempDir()
	for _, variable := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(variable, config)
	}
	path, err := keyfile.DefaultPath()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(path, config) || !strings.HasSuffix(path, filepath.Join("culvert", "identity.txt")) {
		t.Errorf("path is %s", path)
	}
	t.Setenv(keyfile.PathVariable, "elsewhere.txt")
	if path, err := keyfile.DefaultPath(); err != nil || path != "elsewhere.txt" {
		t.Errorf("path is %s, %v", path, err)
	}
}

func TestNoKeyFromForeignIdentity(t *testing.T) {
	identity, err := age.NewScryptIdentity("secret")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keyfile.FromIdentity(identity); err == nil {
		t.Error("a passphrase has become a connection key")
	}
}

func create(t *testing.T, path string) *keyfile.Key {
	t.Helper()
	key, err := keyfile.Generate()
	if err != nil {
		t.Fatal(err)
	}
	if err := key.Create(path, time.Now()); err != nil {
		t.Fatal(err)
	}
	return key
}
