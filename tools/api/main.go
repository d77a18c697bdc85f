// Command api compares what others rely on with an earlier version: the exported API of the packages, and the fields of
// the objects that --json prints.
//
//	go -C tools run ./api [REVISION]
//
// compares with the last tag, or with a revision of git. It prints the changes, and fails if one breaks a promise of
// docs/compatibility.md. Types are checked from the source, without the bodies of functions, so nothing is compiled.
package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/exp/apidiff"
	"golang.org/x/tools/go/packages"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	root, err := filepath.Abs("..")
	if err != nil {
		return err
	}
	revision := ""
	if len(args) > 0 {
		revision = args[0]
	} else if tag, err := exec.Command("git", "describe", "--tags", "--abbrev=0").Output(); err == nil {
		revision = strings.TrimSpace(string(tag))
	} else {
		_, _ = fmt.Fprintln(os.Stdout, "there is no tag yet to compare with; ./dev api REVISION names a commit")
		return nil
	}
	old, err := os.MkdirTemp("", "culvert-api-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(old) //nolint:errcheck // it is in the directory of temporary files
	commit, err := exec.Command("git", "rev-parse", "--verify", revision+"^{commit}").Output()
	if err != nil {
		return fmt.Errorf("there is no revision %q: %w", revision, err)
	}
	revision = strings.TrimSpace(string(commit))
	for _, args := range [][]string{{"clone", "-q", "-n", root, old}, {"-C", old, "checkout", "-q", revision}} {
		cmd := exec.Command("git", args...)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("git %s: %w", args[0], err)
		}
	}
	return compare(old, root)
}

// compare prints what has changed, and returns an error if something was lost.
func compare(old, root string) error {
	before, err := load(old)
	if err != nil {
		return err
	}
	now, err := load(root)
	if err != nil {
		return err
	}
	report := apidiff.ModuleChanges(before, now)
	fields, lost, err := compareFields(old, root)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprint(os.Stdout, report.String(), fields)
	for _, change := range report.Changes {
		lost = lost || !change.Compatible
	}
	if lost {
		return errors.New("not compatible: see docs/compatibility.md for what this asks of the next version")
	}
	return nil
}

// load returns the packages of a module that others can import.
func load(dir string) (*apidiff.Module, error) {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.LoadAllSyntax | packages.NeedModule,
		Dir:  dir,
		Env:  append(os.Environ(), "CGO_ENABLED=0"),
		ParseFile: func(fset *token.FileSet, name string, source []byte) (*ast.File, error) {
			file, err := parser.ParseFile(fset, name, source, parser.SkipObjectResolution)
			if file != nil {
				removeBodies(file)
			}
			return file, err
		},
	}, "./...")
	if err != nil {
		return nil, err
	}
	module := &apidiff.Module{}
	for _, p := range loaded {
		if p.Module == nil || p.Types == nil {
			return nil, fmt.Errorf("%s cannot be loaded: %v", p.PkgPath, p.Errors)
		}
		module.Path = p.Module.Path
		if isPublic(p.Types) {
			module.Packages = append(module.Packages, p.Types)
		}
	}
	return module, nil
}

func isPublic(p *types.Package) bool {
	for element := range strings.SplitSeq(p.Path(), "/") {
		if element == "internal" || element == "cmd" {
			return false
		}
	}
	// Packages for tests of other implementations are stable only together with the version that they came with.
	return !strings.HasSuffix(p.Name(), "test")
}

// removeBodies leaves only the declarations of functions. Generic ones must have a body.
func removeBodies(file *ast.File) {
	for _, declared := range file.Decls {
		if f, ok := declared.(*ast.FuncDecl); ok && f.Type.TypeParams == nil && f.Name.Name != "init" {
			f.Body = nil
		}
	}
}
