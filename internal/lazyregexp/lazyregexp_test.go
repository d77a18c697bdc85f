package lazyregexp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"culvert/internal/lazyregexp"
)

func TestMethods(t *testing.T) {
	r := lazyregexp.New(`^([a-z]+)=(.*)$`)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if !r.MatchString("a=1") || r.Match([]byte("=1")) {
				t.Error("wrong match")
			}
		})
	}
	all.Wait()
	if groups := r.FindStringSubmatch("key=value"); len(groups) != 3 || groups[2] != "value" {
		t.Errorf("the groups are %q", groups)
	}
	if got := r.ReplaceAllString("key=value", "$2=$1"); got != "value=key" {
		t.Errorf("got %q", got)
	}
	if got := r.ReplaceAllStringFunc("key=value", strings.ToUpper); got != "KEY=VALUE" {
		t.Errorf("got %q", got)
	}
}

// TestMistake: a test binary compiles an expression at once, so the tests of a package find a mistake in it.
func TestMistake(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New has returned for an expression that is not valid")
		}
	}()
	lazyregexp.New(`(`)
}

// TestNoneAtStart: no package of the program compiles an expression when the program starts.
func TestNoneAtStart(t *testing.T) {
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && (name == "bench" || name == "tools" || name == "testkit" || name == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			if variables, ok := declaration.(*ast.GenDecl); ok && compiles(variables) {
				t.Errorf("%s: a variable of the package calls regexp.MustCompile; use lazyregexp.New", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// compiles reports whether a declaration calls regexp.MustCompile, outside functions.
func compiles(declaration *ast.GenDecl) (found bool) {
	ast.Inspect(declaration, func(node ast.Node) bool {
		if _, later := node.(*ast.FuncLit); later {
			return false
		}
		selector, ok := node.(*ast.SelectorExpr)
		if ok && selector.Sel.Name == "MustCompile" {
			found = true
		}
		return true
	})
	return found
}
