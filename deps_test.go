package culvert_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// program is the only thing that imports the packages under roof, so their dependencies are nobody else's.
const (
	program = "cmd/culvert"
	roof    = program + "/internal/"
)

// floors says which packages stand on which floor, counted from the ground. A name stands for the packages below it
// too, unless they are named themselves.
var floors = [][]string{
	{
		"bytebuf", "internal/crc", "internal/disk", "internal/fingerprint", "internal/grace", "internal/lazyregexp",
		"internal/namepattern", "internal/ordered", "internal/publish", "internal/recent", "internal/readahead",
		"internal/rowsum", "internal/strictio", "pace",
	},
	{"agefile", "cipherio", "secureconn", "wal", "place", "internal/compress", "internal/keyfile", "internal/typename"},
	{
		"source", "convert", "format", "mask", "manifest", "sink", "internal/sqlsource", "internal/canonical",
		"internal/tablechoice",
	},
	{"postgres", "mysql", "sqlite", "sqldb", "gormdb"},
	{"export"},
	{"fileservice", "fusefs", "internal/plainfs", "load", "workers"},
	{roof + "ui", roof + "help"},
	{roof + "command", roof + "argument", roof + "database", roof + "jobfile", roof + "masking"},
	{
		roof + "serve", roof + "remote", roof + "logs", roof + "demo", roof + "load", roof + "jobs", roof + "export",
		roof + "masks", roof + "tables", roof + "doctor", roof + "prune",
	},
	{roof + "cli", program},
}

// neighbours are the imports within a floor, besides those of a parent by its child, and those of a package that is
// internal to a tree by the other packages of the tree.
var neighbours = []struct{ from, to, reason string }{
	{"internal/disk", "internal/publish", "a log syncs, renames and locks its files as others do"},
	{"pace", "internal/grace", "its pauses end with their context"},
	{"format", "source", "a format writes the batches of a source"},
	{"convert", "source", "it converts the batches of a source"},
	{"convert", "sink/grammar", "which knows the zero dates of MySQL"},
	{"mask", "source", "it masks the batches of a source"},
	{"internal/sqlsource", "source", "it is about the selections and the parts of a source"},
	{"internal/tablechoice", "source", "it chooses tables of a source by their definitions"},
	{"internal/tablechoice", "sink/dialect", "which quotes names for all systems"},
	{"sink/grammar", "internal/canonical", "which knows the usual form of a moment"},
	{"sink/grammar", "source", "it is about the values of a source"},
	{"sink/dialect", "source", "it translates the definitions of a source"},
	{"format/charset", "format", "its errors are those of a row"},
	{"format/sniff", "source", "it looks at the values of batches"},
	{"format/sniff", "format/charset", "it reads samples in other encodings"},
	{"format/arrow", "internal/canonical", "it parses a text that is not as usual in its canonical form"},
	{"format/arrow", "source", "it writes the batches of a source"},
	{"format/arrow/arrowread", "source", "it fills the batches of a source"},
	{"format/internal/typed", "internal/canonical", "it parses a text that is not as usual in its canonical form"},
	{"format/internal/typed", "source", "it is about the columns of a source"},
	{"format/internal/untyped", "internal/canonical", "it prints days as the canonical form has them"},
	{"format/internal/untyped", "source", "it is about the columns of a source"},
	{"format/parquet", "internal/canonical", "it parses a text that is not as usual in its canonical form"},
	{"format/parquet", "source", "it writes the batches of a source"},
	{"format/parquet/parquetread", "source", "it fills the batches of a source"},
	{"internal/canonical", "source", "it is about the types of a source"},
	{"sink", "internal/canonical", "what it reads back is compared with the rows of another system"},
	{"sink", "source", "a sink takes the batches of a source"},
	{"sink", "format", "a sink names the format of the text that it takes"},
	{"manifest", "source", "a manifest says of tables and parts what the source says of them"},
	{"place/bucket", "place/dir", "a URL may name a directory"},
	{"fileservice/transfer", "fileservice/client", "a transfer calls the server through it"},
	{roof + "argument", roof + "command", "its errors have hints, and a command has standard input"},
	{roof + "masking", roof + "command", "its errors have hints, and a command warns"},
	{roof + "jobfile", roof + "command", "its errors have hints"},
	{roof + "jobfile", roof + "masking", "its list of columns is compared where masks are looked up"},
	{roof + "jobfile", roof + "database", "it knows where passwords belong"},
	{roof + "database", roof + "command", "its errors have hints, and a command has secrets"},
	{roof + "export", roof + "jobs", "an export by several workers is a job"},
	{roof + "doctor", roof + "export", "a job file says what the verb export does"},
	{roof + "demo", roof + "remote", "the demo reads the report of the mount that it starts"},
	{program, roof + "cli", "the program is a main function around it"},
	{"gormdb", "sqldb", "GORM gives its rows as those of database/sql"},
}

// forTests are the packages that only tests may import. They themselves may import what they like.
var forTests = []string{
	"fileservice/internal/filetest", "format/arrow/arrowtest", "format/internal/typed/typedtest",
	"format/parquet/parquettest", "internal/testkit", "internal/testkit/crashfs",
	"internal/testkit/mountsuite", "internal/testkit/natsserver", "internal/testkit/planted",
	"internal/testkit/stores", "internal/testkit/testrun", "sink/sinktest", "source/sourcetest", "place/placetest",
}

// dependencies says which packages may import a module that is not ours, tests aside. A package border stands where a
// dependency begins, so that nobody compiles what they do not use. The packages of the program count as one. No
// package: for tests only.
var dependencies = []struct {
	module   string
	packages []string
}{
	{"c2sp.org/CCTV/age", nil},
	{"filippo.io/age", []string{"agefile", "internal/keyfile", "internal/plainfs", "export", program}},
	{"github.com/Azure/azure-sdk-for-go/sdk/azcore", []string{"place/bucket"}},
	{"github.com/Azure/azure-sdk-for-go/sdk/azidentity", []string{"place/bucket"}},
	{"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob", []string{"place/bucket"}},
	{"github.com/apache/arrow-go/v18", nil},
	{"github.com/aws/aws-sdk-go-v2", []string{"place/bucket"}},
	{"github.com/aws/smithy-go", []string{"place/bucket"}},
	{"github.com/brianvoe/gofakeit/v7", []string{"mask"}},
	{"github.com/cespare/xxhash/v2", []string{"format/parquet", "internal/compress/internal/zstdenc"}},
	{"github.com/go-sql-driver/mysql", []string{"mysql/internal/wire"}},
	{"github.com/goccy/go-yaml", []string{program}},
	{"github.com/hanwen/go-fuse/v2", []string{"fusefs"}},
	{"github.com/jackc/pgx/v5", []string{
		"postgres/internal/wire", "postgres/internal/pgdump", "postgres/internal/fill", "postgres/internal/read",
	}},
	{"github.com/klauspost/compress", []string{
		"format/parquet/parquetread", "internal/compress", "internal/compress/internal/zstdenc",
	}},
	{"github.com/minio/crc64nvme", []string{"place", "place/bucket"}},
	{"github.com/nats-io/nats-server/v2/server", []string{"workers/internal/queue"}},
	{"github.com/nats-io/nats.go", []string{"workers/internal/queue"}},
	{"github.com/ncruces/go-sqlite3", []string{
		"sqlite/internal/dbfile", "sqlite/internal/fill", "sqlite/internal/read", "sqlite/internal/valuetext", program,
	}},
	{"github.com/parquet-go/parquet-go", nil},
	{"github.com/prometheus/client_golang", []string{program}},
	{"github.com/rogpeppe/go-internal", nil},
	{"github.com/spf13/cobra", []string{program}},
	{"github.com/spf13/pflag", []string{program}},
	{"github.com/vbauerster/mpb/v8", []string{program}},
	{"github.com/zeebo/xxh3", []string{"fileservice", "internal/rowsum"}},
	{"go.uber.org/goleak", nil},
	{"golang.org/x/crypto", []string{"agefile", "internal/keyfile", "secureconn"}},
	{"golang.org/x/net", nil},
	{"golang.org/x/oauth2", []string{"place/bucket"}},
	{"golang.org/x/sync", []string{"export", "load", "postgres/internal/fill"}},
	{"golang.org/x/sys", []string{
		"fileservice/internal/traffic", "fileservice/server", "fusefs", "internal/publish",
		"sqlite/internal/fill", program,
	}},
	{"golang.org/x/term", []string{program}},
	{"golang.org/x/text", []string{"format/charset"}},
	{"google.golang.org/genproto/googleapis/rpc", []string{
		"fileservice/internal/fileservicepb", "fileservice/internal/wire",
	}},
	{"google.golang.org/grpc", []string{
		"fileservice/client", "fileservice/internal/fileservicepb", "fileservice/internal/wire", "fileservice/server",
	}},
	{"google.golang.org/protobuf", []string{"fileservice/internal/fileservicepb", "fileservice/internal/wire"}},
	{"gorm.io/driver/postgres", nil},
	{"gorm.io/gorm", []string{"gormdb"}},
	{"lukechampine.com/blake3", []string{"fileservice/transfer"}},
}

// pkg is what the tests of this file know of a package.
type pkg struct {
	dir     string // from the root, with slashes; "." is the root
	name    string
	doc     string
	imports map[string]bool // of the files that are not tests, on whatever system they are built
	tests   map[string]bool // of its test files
}

func TestFloors(t *testing.T) {
	packages := readPackages(t)
	for _, p := range packages {
		if p.dir == "." || isForTests(p.dir) {
			continue
		}
		from := floorOf(p.dir)
		if from < 0 {
			t.Errorf("%s stands on no floor: give it a place in the table floors of deps_test.go", p.dir)
			continue
		}
		for imported := range p.imports {
			to, ours := strings.CutPrefix(imported, "culvert/")
			switch {
			case imported == "culvert":
				t.Errorf("%s imports culvert, which is a map without code: import the package you need", p.dir)
			case !ours:
			case isForTests(to):
				t.Errorf("%s imports %s, which is for tests: move what you need into a package of its own", p.dir, to)
			case floorOf(to) > from:
				t.Errorf("%s (floor %d) imports %s (floor %d): declare what you need as a small interface in %[1]s, "+
					"and let a package above both join them", p.dir, from, to, floorOf(to))
			case floorOf(to) == from && !strings.HasPrefix(p.dir, to+"/") && !isInternalOf(p.dir, to) &&
				!areNeighbours(p.dir, to):
				t.Errorf("%s imports %s on the same floor: let a package above join them, by io or by an interface; "+
					"or move what both need to a lower floor", p.dir, to)
			}
		}
	}
	for _, n := range neighbours {
		if i := indexOf(packages, n.from); i >= 0 && !packages[i].imports["culvert/"+n.to] {
			t.Errorf("%s no longer imports %s (%s): take the line out of the table neighbours", n.from, n.to, n.reason)
		}
	}
}

// home returns the name of a package in the table dependencies. All packages of the program have the same.
func home(dir string) string {
	if covers(program, dir) {
		return program
	}
	return dir
}

func TestDependencies(t *testing.T) {
	used := map[string]bool{}
	usedBy := map[string]bool{} // a module and a package
	for _, p := range readPackages(t) {
		for imported := range p.imports {
			module, allowed := dependencyOf(imported)
			switch {
			case isStandard(imported):
				continue
			case module == "":
				t.Errorf("%s imports %s: do without it; or, if there is a strong reason, give it to one package in "+
					"the table dependencies of deps_test.go and say why in CONTRIBUTING.md", p.dir, imported)
			case !isForTests(p.dir) && allowed == nil:
				t.Errorf("%s imports %s, which is for tests only", p.dir, imported)
			case !isForTests(p.dir) && !slices.Contains(allowed, home(p.dir)):
				t.Errorf("%s imports %s, which belongs to %s: ask that package for what you need, so that who imports "+
					"%[1]s does not compile it", p.dir, imported, strings.Join(allowed, ", "))
			}
			used[module] = true
			usedBy[module+" "+home(p.dir)] = true
		}
		for imported := range p.tests {
			module, _ := dependencyOf(imported)
			if module == "" && !isStandard(imported) {
				t.Errorf("a test of %s imports %s: use package testing and internal/testkit", p.dir, imported)
			}
			used[module] = true
		}
	}
	for _, d := range dependencies {
		if !used[d.module] {
			t.Errorf("nothing imports %s: take it out of the table dependencies and of CONTRIBUTING.md", d.module)
		}
		for _, dir := range d.packages {
			if !usedBy[d.module+" "+dir] {
				t.Errorf("%s does not import %s: take it out of the line of that module in the table dependencies",
					dir, d.module)
			}
		}
	}
}

// TestNeverCompiled holds packages to what their callers must not have to compile.
func TestNeverCompiled(t *testing.T) {
	packages := readPackages(t)
	readers := []string{"format/arrow/arrowread", "format/parquet/parquetread", "format/internal/untyped"}
	columns := append([]string{"format/arrow", "format/parquet"}, readers...)
	for from, never := range map[string][]string{
		"fileservice/client": {"fileservice/server", "fileservice/transfer", "wal"},
		"fileservice/server": {"fileservice/client", "fileservice/transfer"},
		"export":             columns,
		"load":               columns,
		"format":             columns,
		"format/arrow":       readers,
		"format/parquet":     readers,
	} {
		if indexOf(packages, from) < 0 {
			t.Errorf("%s does not exist: take it out of this test", from)
		}
		seen := compiledWith(packages, from)
		for _, dir := range never {
			if seen[dir] {
				t.Errorf("%s imports %s, if only through others", from, dir)
			}
		}
	}
}

// TestHeavyIsForTheProgram keeps what weighs most, the clouds' SDKs with 34 MB and the NATS server with 12 MB, out of
// every program that imports another package of this module.
func TestHeavyIsForTheProgram(t *testing.T) {
	packages := readPackages(t)
	for tree, heavy := range map[string]string{"place/bucket": "place/bucket", "workers": "workers"} {
		if indexOf(packages, heavy) < 0 {
			t.Fatalf("%s does not exist: take it out of this test", heavy)
		}
		for _, p := range packages {
			if covers(tree, p.dir) || covers(program, p.dir) || isForTests(p.dir) {
				continue
			}
			if compiledWith(packages, p.dir)[heavy] {
				t.Errorf("%s imports %s, if only through others: let the program join them, as it joins a source and "+
					"a place", p.dir, heavy)
			}
		}
	}
}

// compiledWith returns a package and those of the module that it imports, if only through others.
func compiledWith(packages []*pkg, from string) map[string]bool {
	seen := map[string]bool{}
	var visit func(dir string)
	visit = func(dir string) {
		i := indexOf(packages, dir)
		if i < 0 || seen[dir] {
			return
		}
		seen[dir] = true
		for imported := range packages[i].imports {
			if to, ours := strings.CutPrefix(imported, "culvert/"); ours {
				visit(to)
			}
		}
	}
	visit(from)
	return seen
}

// TestDependenciesAreExplained holds the table of CONTRIBUTING.md to the one above.
func TestDependenciesAreExplained(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([\\w-]+\\.[^` ]+/[^` ]+)` \\| .{20}").FindAllSubmatch(text, -1) {
		explained[string(row[1])] = true
	}
	for _, d := range dependencies {
		if !explained[d.module] {
			t.Errorf("CONTRIBUTING.md does not say what %s is for, and why it and not another", d.module)
		}
		delete(explained, d.module)
	}
	for module := range explained {
		t.Errorf("CONTRIBUTING.md explains %s, which deps_test.go does not allow", module)
	}
}

func TestPackageComments(t *testing.T) {
	for _, p := range readPackages(t) {
		begin := "Package " + p.name + " "
		if p.name == "main" {
			begin = "Command " + path.Base(p.dir) + " "
		}
		if !strings.HasPrefix(p.doc, begin) {
			t.Errorf("%s has no package comment: begin one with %q, and say what the package is for and how its parts "+
				"fit, as you would to a new colleague", p.dir, begin)
		}
	}
}

// readPackages parses the heads of all Go files of the module.
func readPackages(t *testing.T) []*pkg {
	t.Helper()
	byDir := map[string]*pkg{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipped(name, entry.Name())
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		if byDir[dir] == nil {
			byDir[dir] = &pkg{dir: dir, imports: map[string]bool{}, tests: map[string]bool{}}
		}
		return byDir[dir].add(file, strings.HasSuffix(name, "_test.go"))
	})
	if err != nil {
		t.Fatal(err)
	}
	packages := slices.Collect(maps.Values(byDir))
	packages = slices.DeleteFunc(packages, func(p *pkg) bool { return p.name == "" })
	slices.SortFunc(packages, func(a, b *pkg) int { return strings.Compare(a.dir, b.dir) })
	if len(packages) < 5 {
		t.Fatalf("found only %d packages; the test does not see the module", len(packages))
	}
	return packages
}

// skipped keeps the walk inside the module.
func skipped(name, base string) error {
	if name == "." {
		return nil
	}
	if base == "testdata" || base[0] == '.' || base[0] == '_' {
		return fs.SkipDir
	}
	if _, err := os.Stat(path.Join(name, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// add takes over what the head of one file says.
func (p *pkg) add(file *ast.File, isTest bool) error {
	imports := p.imports
	if isTest {
		imports = p.tests
	} else {
		p.name = file.Name.Name
		if file.Doc != nil {
			p.doc = file.Doc.Text()
		}
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		imports[imported] = true
	}
	return nil
}

// floorOf returns the floor of a package by the longest line of the table that covers it, or -1.
func floorOf(dir string) int {
	floor, longest := -1, 0
	for i, names := range floors {
		for _, name := range names {
			if covers(name, dir) && len(name) > longest {
				floor, longest = i, len(name)
			}
		}
	}
	return floor
}

func dependencyOf(imported string) (module string, allowed []string) {
	for _, d := range dependencies {
		if covers(d.module, imported) {
			return d.module, d.packages
		}
	}
	return "", nil
}

// covers reports whether name is the path or one above it.
func covers(name, path string) bool {
	return path == name || strings.HasPrefix(path, name+"/")
}

// isStandard reports whether an import is of the standard library, or ours, which the floors govern.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return strings.HasPrefix(imported, "culvert/") || !strings.Contains(first, ".")
}

func isForTests(dir string) bool { return slices.Contains(forTests, dir) }

// isInternalOf reports whether to is internal to a tree of packages that from belongs to, such as source.
func isInternalOf(from, to string) bool {
	tree, _, found := strings.Cut(to, "/internal/")
	return found && tree != program && covers(tree, from)
}

func areNeighbours(from, to string) bool {
	for _, n := range neighbours {
		if n.from == from && n.to == to {
			return true
		}
	}
	return false
}

func indexOf(packages []*pkg, dir string) int {
	return slices.IndexFunc(packages, func(p *pkg) bool { return p.dir == dir })
}
