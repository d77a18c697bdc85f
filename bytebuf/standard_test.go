package bytebuf_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"culvert/bytebuf"
	"culvert/internal/testkit"
)

// TestStandardLibrary runs the tests and examples that the installed Go has for bytes.Buffer, with our names in place
// of the original's. An overlay puts them where the tests of this package are.
func TestStandardLibrary(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: it runs the go command")
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		testkit.Missing(t, "the go command", "https://go.dev/dl")
	}
	original := filepath.Join(strings.TrimSpace(string(goroot)), "src", "bytes")
	temp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
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
	for _, name := range []string{"buffer_test.go", "example_test.go"} {
		text, err := os.ReadFile(filepath.Join(original, name))
		if err != nil {
			testkit.Missing(t, "the sources of the standard library", "https://go.dev/dl")
		}
		renamed := rename(t, name, text)
		if err := os.WriteFile(filepath.Join(temp, name), renamed, 0o600); err != nil {
			t.Fatal(err)
		}
		replaced[filepath.Join(dir, "renamed_"+name)] = filepath.Join(temp, name)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	overlayName := filepath.Join(temp, "overlay.json")
	if err := os.WriteFile(overlayName, overlay, 0o600); err != nil {
		t.Fatal(err)
	}

	args := []string{"test", "-overlay", overlayName, "-json", "-vet=off", "-run", "^Test|^ExampleBuffer"}
	if tags := buildTags(); tags != "" {
		args = append(args, "-tags", tags)
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, ".")...)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off")
	output, err := cmd.Output()
	passed := 0
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var event struct{ Action, Test, Output string }
		if decoder.Decode(&event) != nil {
			break
		}
		if strings.Contains(event.Test, "/") || event.Test == "" {
			continue
		}
		switch event.Action {
		case "pass":
			passed++
		case "fail", "skip":
			t.Errorf("%s: %s", event.Test, event.Action)
		}
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	// Go 1.26 has 26 tests and 10 examples.
	if passed < 36 {
		t.Errorf("%d tests passed, want 36 at least:\n%s", passed, output)
	}
}

// rename returns a test file of package bytes in which what bytebuf has is that of bytebuf. The rest of package bytes,
// such as Equal, stays what it is.
func rename(t *testing.T, name string, text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte(`"bytes.Buffer`), []byte(`"bytebuf.Buffer`))
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	file.Name.Name = "bytebuf_test"
	for _, imported := range file.Imports {
		switch path, _ := strconv.Unquote(imported.Path.Value); path {
		case "bytes":
			imported.Name = nil
			// One line, which format.Source is content with.
			imported.Path.Value = "\"bytes\"\n\t\"culvert/bytebuf\""
		case "internal/testenv":
			// Only to skip a test if the compiler does not optimize, which it does here.
			imported.Name, imported.Path.Value = ast.NewIdent("_"), `"io"`
		}
	}
	for _, unresolved := range file.Unresolved {
		if types.Universe.Lookup(unresolved.Name) == nil && ast.IsExported(unresolved.Name) {
			unresolved.Name = home(unresolved.Name) + "." + unresolved.Name
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "bytes" {
				x.Name = home(n.Sel.Name)
			}
		case *ast.BlockStmt:
			kept := n.List[:0]
			for _, statement := range n.List {
				if !callsTestenv(statement) {
					kept = append(kept, statement)
				}
			}
			n.List = kept
		}
		return true
	})
	var out bytes.Buffer
	if err := format.Node(&out, files, file); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&out, "\nvar _, _ = bytes.Equal, bytebuf.New\n")
	return out.Bytes()
}

// home is the package that has the name.
func home(name string) string {
	switch name {
	case "Buffer", "NewBuffer", "NewBufferString", "MinRead", "ErrTooLarge":
		return "bytebuf"
	default:
		return "bytes"
	}
}

func callsTestenv(statement ast.Stmt) bool {
	expression, ok := statement.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := expression.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := selector.X.(*ast.Ident)
	return ok && x.Name == "testenv"
}

// buildTags are the tags that this test was built with, as far as they matter.
func buildTags() string {
	var tags []string
	if pureGo {
		tags = append(tags, "purego")
	}
	if bytebuf.Debug {
		tags = append(tags, "bytebufdebug")
	}
	return strings.Join(tags, ",")
}
