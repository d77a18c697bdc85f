// Command crossvet checks that a module compiles for other systems, its tests too, and runs the checks of go vet on it:
//
//	go -C tools run ./crossvet .. linux/arm64 windows/amd64
//
// It checks types from the source and generates no code. Of dependencies it reads only declarations. So a system takes
// seconds in which go vet would compile all dependencies for it.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 3 {
		_, _ = fmt.Fprintln(os.Stderr, "usage: crossvet DIRECTORY GOOS/GOARCH...")
		os.Exit(2)
	}
	dir, err := filepath.Abs(os.Args[1])
	for _, system := range os.Args[2:] {
		if err == nil {
			err = check(dir, system)
		}
	}
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "crossvet:", err)
		os.Exit(1)
	}
}

// check checks the module in a directory for one system.
func check(dir, system string) error {
	goos, goarch, found := strings.Cut(system, "/")
	if !found {
		return fmt.Errorf("%q is not GOOS/GOARCH", system)
	}
	loaded, err := packages.Load(&packages.Config{
		Mode:  packages.LoadAllSyntax | packages.NeedModule,
		Dir:   dir,
		Env:   append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
		Tests: true,
		ParseFile: func(fset *token.FileSet, name string, source []byte) (*ast.File, error) {
			file, err := parser.ParseFile(fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
			if file != nil && !strings.HasPrefix(name, dir+string(filepath.Separator)) {
				removeBodies(file)
			}
			return file, err
		},
	}, "./...")
	if err != nil {
		return err
	}
	loaded = slices.DeleteFunc(loaded, func(p *packages.Package) bool {
		return strings.HasSuffix(p.ID, ".test") // the main function of a test binary, which go test has made
	})
	var problems []string
	packages.Visit(loaded, nil, func(p *packages.Package) {
		if p.Module != nil && p.Module.Main {
			for _, err := range p.Errors {
				problems = append(problems, err.Error())
			}
		}
		p.IllTyped = false // packages without the bodies of functions import more than they need
	})
	if len(problems) > 0 {
		return fmt.Errorf("for %s:\n%s", system, strings.Join(problems, "\n"))
	}
	graph, err := checker.Analyze(analyzers(), loaded, nil)
	if err != nil {
		return err
	}
	for action := range graph.All() {
		if !action.IsRoot {
			continue
		}
		if action.Err != nil {
			problems = append(problems, fmt.Sprintf("%v: %v", action, action.Err))
		}
		for _, d := range action.Diagnostics {
			problems = append(problems, fmt.Sprintf("%s: %s", action.Package.Fset.Position(d.Pos), d.Message))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("for %s:\n%s", system, strings.Join(problems, "\n"))
	}
	return nil
}

// analyzers returns the checks of go vet, except lostcancel, which has to know from the bodies of dependencies which
// functions never return, and scannererr, which go vet does not have yet.
func analyzers() []*analysis.Analyzer {
	return slices.DeleteFunc(slices.Clone(vet.Suite), func(a *analysis.Analyzer) bool {
		return a.Name == "lostcancel" || a.Name == "scannererr"
	})
}

// removeBodies leaves only the declarations of functions. Generic ones must have a body.
func removeBodies(file *ast.File) {
	for _, declared := range file.Decls {
		if f, ok := declared.(*ast.FuncDecl); ok && f.Type.TypeParams == nil && f.Name.Name != "init" {
			f.Body = nil
		}
	}
}
