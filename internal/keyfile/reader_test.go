package keyfile_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"
	"filippo.io/age/plugin"
	"golang.org/x/crypto/ssh"

	"culvert/internal/keyfile"
)

const passphrase = "correct horse"

func TestIdentities(t *testing.T) {
	native := knownSecret
	pq, err := keyfile.GeneratePostQuantum()
	if err != nil {
		t.Fatal(err)
	}
	var pqFile strings.Builder
	if err := pq.Write(&pqFile, startOf2026); err != nil {
		t.Fatal(err)
	}
	pluginLine := plugin.EncodeIdentity("test", []byte("data"))
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, file string
		identities int
	}{
		{"native", native + "\n", 1},
		{"without a line end", native, 1},
		{"with CRLF", "# a\r\n\r\n" + native + "\r\n", 1},
		{"two among comments", "# a\n\n" + native + "\n# b\n" + native + "\n", 2},
		{"post-quantum", pqFile.String(), 1},
		{"plugin", pluginLine, 1},
		{"ssh-ed25519", sshPrivateKey(t, edKey, ""), 1},
		{"ssh-ed25519 with passphrase", sshPrivateKey(t, edKey, passphrase), 1},
		{"ssh-rsa", sshPrivateKey(t, rsaKey, ""), 1},
		{"encrypted", encrypted(t, native, passphrase, false), 1},
		{"encrypted and armored", "\n" + encrypted(t, native, passphrase, true), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			identities, err := interactive().Identities(write(t, test.file))
			if err != nil {
				t.Fatal(err)
			}
			if len(identities) != test.identities {
				t.Fatalf("%d identities, want %d", len(identities), test.identities)
			}
			recipients, err := keyfile.RecipientsOf(identities)
			if err != nil {
				t.Fatal(err)
			}
			if test.name == "plugin" {
				return // encrypting would run age-plugin-test
			}
			roundTrip(t, recipients, identities)
		})
	}
}

func TestBadIdentities(t *testing.T) {
	toRecipient := new(bytes.Buffer)
	recipient, err := age.ParseX25519Recipient(knownRecipient)
	if err != nil {
		t.Fatal(err)
	}
	if err := encryptTo(toRecipient, knownSecret, recipient); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, file, want string }{
		{"empty", "", "no identity found"},
		{"only comments", "# a\n\n# b\n", "no identity found"},
		{"recipient", knownRecipient, "line 1 is a recipient"},
		{"text", "# a\nhello\n", "line 2: unknown kind of identity"},
		{"flipped", knownSecret[:len(knownSecret)-1] + "1", "line 1: malformed secret key"},
		{"not UTF-8", "\xff\xfe", "line 1 is not UTF-8"},
		{"long line", strings.Repeat("a", 9<<10), "line 1 is longer"},
		{"large", strings.Repeat("#\n", 8<<20) + "#", "larger than"},
		{"cut ssh key", "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n", "ssh key"},
		{"large ssh key", "-----BEGIN OPENSSH PRIVATE KEY-----\n" + strings.Repeat("A", 17<<10), "larger than"},
		{"ssh key that age cannot use", ecdsaKey(t), "ssh key"},
		{"encrypted to a recipient", toRecipient.String(), "not with a passphrase"},
		{"encrypted nothing", encrypted(t, "", passphrase, false), "no identity found"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := write(t, test.file)
			identities, err := interactive().Identities(path)
			if err == nil {
				// An encrypted file shows what is wrong when it is used.
				_, err = keyfile.RecipientsOf(identities)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error is %v, want one with %q and the path", err, test.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "keyfile: ") {
				t.Errorf("the error does not begin with the package: %v", err)
			}
			if err != nil && test.file != "" && strings.Contains(err.Error(), knownSecret[16:30]) {
				t.Errorf("the error shows the secret: %v", err)
			}
		})
	}
}

func TestWrongPassphrase(t *testing.T) {
	reader := interactive()
	reader.Passphrase = func(string) (string, error) { return "wrong", nil }
	identities, err := reader.Identities(write(t, encrypted(t, knownSecret, passphrase, false)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keyfile.RecipientsOf(identities); !errors.Is(err, keyfile.ErrPassphrase) {
		t.Errorf("error is %v, want ErrPassphrase", err)
	}
}

func TestPassphraseIsAskedForOnlyWhenNeeded(t *testing.T) {
	asked := 0
	reader := interactive()
	reader.Passphrase = func(string) (string, error) { asked++; return passphrase, nil }
	identities, err := reader.Identities(write(t, encrypted(t, knownSecret, passphrase, false)))
	if err != nil {
		t.Fatal(err)
	}
	if asked != 0 {
		t.Error("asked before the identity is used")
	}
	recipient, err := age.ParseX25519Recipient(knownRecipient)
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, []age.Recipient{recipient}, identities)
	roundTrip(t, []age.Recipient{recipient}, identities)
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
}

func TestPassphraseIdentity(t *testing.T) {
	var file bytes.Buffer
	recipient, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		t.Fatal(err)
	}
	recipient.SetWorkFactor(10)
	if err := encryptTo(&file, "hello", recipient); err != nil {
		t.Fatal(err)
	}
	given := func(text string) *keyfile.PassphraseIdentity {
		return &keyfile.PassphraseIdentity{Passphrase: func() (string, error) { return text, nil }}
	}
	if got, err := decrypt(file.Bytes(), given(passphrase)); err != nil || got != "hello" {
		t.Errorf("decrypted to %q, %v", got, err)
	}
	if _, err := decrypt(file.Bytes(), given("wrong")); !errors.Is(err, keyfile.ErrPassphrase) {
		t.Errorf("error is %v, want ErrPassphrase", err)
	}
	refused := errors.New("no terminal")
	silent := &keyfile.PassphraseIdentity{Passphrase: func() (string, error) { return "", refused }}
	if _, err := decrypt(file.Bytes(), silent); !errors.Is(err, refused) {
		t.Errorf("error is %v, want that of the callback", err)
	}
}

func TestWithoutInteraction(t *testing.T) {
	var reader keyfile.Reader
	for name, file := range map[string]string{
		"plugin":         plugin.EncodeIdentity("test", nil),
		"encrypted file": encrypted(t, knownSecret, passphrase, false),
	} {
		identities, err := reader.Identities(write(t, file))
		if err == nil {
			_, err = keyfile.RecipientsOf(identities)
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := reader.Identities("-"); err == nil {
		t.Error("standard input: no error")
	}
	if _, err := reader.Recipient(plugin.EncodeRecipient("test", nil)); err == nil {
		t.Error("recipient of a plugin: no error")
	}
}

func TestStandardInput(t *testing.T) {
	reader := interactive()
	reader.Stdin = func() (io.Reader, error) { return strings.NewReader(knownSecret), nil }
	if _, err := reader.Identities("-"); err != nil {
		t.Error(err)
	}
	reader.Stdin = func() (io.Reader, error) { return strings.NewReader(knownRecipient), nil }
	if _, err := reader.Recipients("-"); err != nil {
		t.Error(err)
	}
	taken := errors.New("taken")
	reader.Stdin = func() (io.Reader, error) { return nil, taken }
	if _, err := reader.Recipients("-"); !errors.Is(err, taken) {
		t.Errorf("error is %v, want that of the callback", err)
	}
}

func TestWarnsOfReadableIdentity(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	for mode, want := range map[os.FileMode]int{0o600: 0, 0o400: 0, 0o640: 1, 0o604: 1} {
		path := write(t, knownSecret)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		warnings := 0
		reader := interactive()
		reader.Warn = func(string) { warnings++ }
		if _, err := reader.Identities(path); err != nil {
			t.Fatal(err)
		}
		if warnings != want {
			t.Errorf("mode %o: %d warnings, want %d", mode, warnings, want)
		}
	}
}

func TestRecipients(t *testing.T) {
	pq, err := keyfile.GeneratePostQuantum()
	if err != nil {
		t.Fatal(err)
	}
	ed, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sshLine := authorizedKey(t, ed)
	for _, test := range []struct {
		name, text string
	}{
		{"native", knownRecipient},
		{"post-quantum", pq.RecipientString()},
		{"ssh", sshLine},
		{"plugin", plugin.EncodeRecipient("test", []byte("data"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			reader := interactive()
			if _, err := reader.Recipient(test.text); err != nil {
				t.Error(err)
			}
			recipients, err := reader.Recipients(write(t, "# of a friend\n\n"+test.text+"\r\n"))
			if err != nil || len(recipients) != 1 {
				t.Errorf("%d recipients from a file, %v", len(recipients), err)
			}
		})
	}
}

func TestBadRecipients(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"empty", "", "no recipient found"},
		{"identity", knownSecret, "line 1 is an identity"},
		{"text", "# a\nsecret word\n", "line 2 is not a recipient"},
		{"flipped", knownRecipient[:len(knownRecipient)-1] + "q", "line 1 is not a recipient"},
		{"not UTF-8", "\xff\xfe", "line 1 is not UTF-8"},
		{"unusable ssh key alone", ecdsaPublic(t), "no recipient found"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := interactive().Recipients(write(t, test.file))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "keyfile: ") {
				t.Fatalf("error is %v, want one with %q that begins with the package", err, test.want)
			}
			if strings.Contains(err.Error(), "secret word") || strings.Contains(err.Error(), knownSecret[16:30]) {
				t.Errorf("the error shows what is in the file: %v", err)
			}
		})
	}
}

// A file that was given in place of a recipient, or of the name of a file, may hold a secret.
func TestErrorsShowNoSecret(t *testing.T) {
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pem := sshPrivateKey(t, edKey, "")
	for name, text := range map[string]string{
		"identity":              knownSecret,
		"lower case":            strings.ToLower(knownSecret),
		"after a space":         " " + knownSecret,
		"identity file":         "# created: today\n# public key: " + knownRecipient + "\n" + knownSecret + "\n",
		"after a recipient":     knownRecipient + "\n" + knownSecret,
		"after a tagged one":    "age1tag1" + knownSecret,
		"after that of plugin":  "age1yubikey1" + knownSecret,
		"after an ssh key":      "ssh-ed25519 AAAA " + knownSecret,
		"ssh private key":       pem,
		"passphrase, perhaps":   "correct horse battery staple",
		"cut, as by a terminal": knownSecret[:30],
	} {
		reader := interactive()
		_, ofRecipient := reader.Recipient(text)
		_, ofRecipients := reader.Recipients(text)
		_, ofIdentities := reader.Identities(text)
		for _, err := range []error{ofRecipient, ofRecipients, ofIdentities} {
			if err == nil {
				t.Fatalf("%s: no error", name)
			}
			for _, secret := range []string{knownSecret[16:30], pem[40:60]} {
				if strings.Contains(strings.ToUpper(err.Error()), strings.ToUpper(secret)) {
					t.Errorf("%s: the error shows it: %v", name, err)
				}
			}
		}
		if strings.Contains(ofRecipient.Error(), "battery") {
			t.Errorf("%s: the error shows it: %v", name, ofRecipient)
		}
	}
}

// What is wrong with the header of a file is told from what is wrong with an identity.
func TestMalformedStanza(t *testing.T) {
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	identities := func(file string) age.Identity {
		read, err := interactive().Identities(write(t, file))
		if err != nil {
			t.Fatal(err)
		}
		return read[0]
	}
	locked := identities(encrypted(t, knownSecret, passphrase, false))
	byPassphrase := &keyfile.PassphraseIdentity{Passphrase: func() (string, error) { return passphrase, nil }}
	for _, test := range []struct {
		name     string
		identity age.Identity
		stanzas  []*age.Stanza
	}{
		{"scrypt among others", byPassphrase, []*age.Stanza{{Type: "scrypt"}, {Type: "X25519"}}},
		{"scrypt without arguments", byPassphrase, []*age.Stanza{{Type: "scrypt"}}},
		{"scrypt with a huge work factor", byPassphrase, []*age.Stanza{{
			Type: "scrypt", Args: []string{"AAAAAAAAAAAAAAAAAAAAAA", "60"},
		}}},
		{"scrypt with a work factor above the limit", byPassphrase, []*age.Stanza{{
			Type: "scrypt", Args: []string{"AAAAAAAAAAAAAAAAAAAAAA", strconv.Itoa(keyfile.MaxWorkFactor + 1)},
			Body: make([]byte, 32),
		}}},
		{"encrypted identity", locked, []*age.Stanza{{Type: "X25519"}}},
		{"ssh-ed25519", identities(sshPrivateKey(t, edKey, "")), []*age.Stanza{{Type: "ssh-ed25519"}}},
		{"ssh-rsa", identities(sshPrivateKey(t, rsaKey, "")), []*age.Stanza{{Type: "ssh-rsa"}}},
	} {
		_, err := test.identity.Unwrap(test.stanzas)
		if !errors.Is(err, keyfile.ErrMalformed) || !strings.HasPrefix(err.Error(), "keyfile: ") {
			t.Errorf("%s: error is %v, want ErrMalformed", test.name, err)
		}
		_, err = test.identity.Unwrap([]*age.Stanza{{Type: "of others"}})
		if !errors.Is(err, age.ErrIncorrectIdentity) {
			t.Errorf("%s: error for the stanza of others is %v", test.name, err)
		}
	}
}

func TestConcurrentUseOfEncryptedIdentity(t *testing.T) {
	var asked atomic.Int32
	reader := interactive()
	reader.Passphrase = func(string) (string, error) { asked.Add(1); return passphrase, nil }
	identities, err := reader.Identities(write(t, encrypted(t, knownSecret, passphrase, false)))
	if err != nil {
		t.Fatal(err)
	}
	recipient, err := age.ParseX25519Recipient(knownRecipient)
	if err != nil {
		t.Fatal(err)
	}
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() { roundTrip(t, []age.Recipient{recipient}, identities) })
	}
	users.Wait()
	if asked.Load() != 1 {
		t.Errorf("asked %d times, want once", asked.Load())
	}
}

func TestUnusableSSHKeysArePassedOver(t *testing.T) {
	var warnings []string
	reader := interactive()
	reader.Warn = func(message string) { warnings = append(warnings, message) }
	recipients, err := reader.Recipients(write(t, ecdsaPublic(t)+"\n"+knownRecipient+"\n"))
	if err != nil || len(recipients) != 1 {
		t.Fatalf("%d recipients, %v", len(recipients), err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "line 1") || !strings.Contains(warnings[0], "ecdsa") {
		t.Errorf("warnings: %q", warnings)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(knownSecret)
	f.Add("# a\r\n" + knownRecipient)
	f.Add(armor.Header + "\n")
	f.Add("age-encryption.org/v1\n")
	f.Add("-----BEGIN OPENSSH PRIVATE KEY-----\n")
	f.Add("AGE-PLUGIN-")
	f.Fuzz(func(t *testing.T, text string) {
		var reader keyfile.Reader
		reader.Stdin = func() (io.Reader, error) { return strings.NewReader(text), nil }
		if identities, err := reader.Identities("-"); err == nil && len(identities) == 0 {
			t.Error("no identities and no error")
		}
		if recipients, err := reader.Recipients("-"); err == nil && len(recipients) == 0 {
			t.Error("no recipients and no error")
		}
	})
}

// interactive is a reader whose user knows the passphrase.
func interactive() *keyfile.Reader {
	return &keyfile.Reader{
		Passphrase: func(string) (string, error) { return passphrase, nil },
		Plugin:     &plugin.ClientUI{},
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func roundTrip(t *testing.T, recipients []age.Recipient, identities []age.Identity) {
	t.Helper()
	var file bytes.Buffer
	if err := encryptTo(&file, "hello", recipients...); err != nil {
		t.Fatal(err)
	}
	if got, err := decrypt(file.Bytes(), identities...); err != nil || got != "hello" {
		t.Errorf("decrypted to %q, %v", got, err)
	}
}

func encryptTo(dst io.Writer, text string, recipients ...age.Recipient) error {
	w, err := age.Encrypt(dst, recipients...)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return errors.Join(err, w.Close())
}

func decrypt(file []byte, identities ...age.Identity) (string, error) {
	r, err := age.Decrypt(bytes.NewReader(file), identities...)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), err
}

func encrypted(t *testing.T, text, passphrase string, armored bool) string {
	t.Helper()
	recipient, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		t.Fatal(err)
	}
	recipient.SetWorkFactor(10)
	var file bytes.Buffer
	if !armored {
		if err := encryptTo(&file, text, recipient); err != nil {
			t.Fatal(err)
		}
		return file.String()
	}
	w := armor.NewWriter(&file)
	if err := errors.Join(encryptTo(w, text, recipient), w.Close()); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

func sshPrivateKey(t *testing.T, key any, passphrase string) string {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block))
}

func authorizedKey(t *testing.T, public any) string {
	t.Helper()
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

func ecdsaKey(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return sshPrivateKey(t, key, "")
}

func ecdsaPublic(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return authorizedKey(t, &key.PublicKey)
}
