package cipherio_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"culvert/internal/testkit"
)

// TestStandardLibrary runs the examples of crypto/cipher, as they are in the installed Go, with the names of our types
// in place of the original's. They are the only tests that the standard library has for those. An overlay puts them
// where the tests of this package are.
func TestStandardLibrary(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: it runs the go command")
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		testkit.Missing(t, "the go command", "https://go.dev/dl")
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(goroot)), "src/crypto/cipher/example_test.go"))
	if err != nil {
		testkit.Missing(t, "the sources of the standard library", "https://go.dev/dl")
	}
	renamed := strings.NewReplacer(
		"package cipher_test", "package cipherio_test",
		"import (", "import (\n\t\"culvert/cipherio\"",
		"cipher.StreamReader", "cipherio.StreamReader",
		"cipher.StreamWriter", "cipherio.StreamWriter",
	).Replace(string(text))

	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	replaced := map[string]string{}
	for _, name := range own {
		replaced[name] = "" // as if it were not there
	}
	temp := t.TempDir()
	replaced[filepath.Join(dir, "renamed_test.go")] = filepath.Join(temp, "renamed_test.go")
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"renamed_test.go": renamed, "overlay.json": string(overlay)} {
		if err := os.WriteFile(filepath.Join(temp, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", filepath.Join(temp, "overlay.json"), "-v",
		"-run", "^ExampleStream", ".")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"ExampleStreamReader", "ExampleStreamWriter"} {
		if !strings.Contains(string(out), "--- PASS: "+name) {
			t.Errorf("%s did not run:\n%s", name, out)
		}
	}
}
