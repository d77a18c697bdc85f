package pgdump

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"

	"culvert/internal/lazyregexp"
	"culvert/source"
)

// program is a pg_dump.
type program struct {
	path    string
	version string // such as 17.2
	major   int
}

// directories are those in which packages for several versions keep the programs of each.
var directories = []string{
	"/usr/lib/postgresql/*/bin", "/usr/libexec/postgresql*", "/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin", "/opt/homebrew/opt/libpq/bin", "/usr/local/opt/postgresql@*/bin",
	"/usr/local/opt/libpq/bin",
}

var versionLine = lazyregexp.New(`^pg_dump \(PostgreSQL\) (([0-9]+)[0-9.a-z]*)`)

// find returns the oldest pg_dump that is not older than a server, since what a newer one prints may need a newer
// server. Of equal ones it is the one in PATH, unless that is a wrapper.
func find(ctx context.Context, server int) (*program, error) {
	paths, wrapper, err := candidates()
	if err != nil {
		return nil, err
	}
	var best, old *program
	for _, path := range paths {
		if path == wrapper && best != nil {
			break // it is the last
		}
		p, err := ask(ctx, path)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
		case p.major < server:
			if old == nil || p.major > old.major {
				old = p
			}
		case best == nil || p.major < best.major:
			best = p
		}
	}
	hint := fmt.Sprintf("install the client programs of PostgreSQL %d or newer, such as postgresql-client-%d", server,
		server)
	switch {
	case best != nil:
		return best, nil
	case old != nil:
		return nil, &source.NoSchemaError{
			Reason: fmt.Sprintf("pg_dump %s is older than the server, which is PostgreSQL %d", old.version, server),
			Hint:   hint,
		}
	}
	return nil, &source.NoSchemaError{Reason: "the program pg_dump is not installed", Hint: hint}
}

// candidates returns all pg_dump of this system. If the one in PATH is the wrapper of Debian, it is the last: it runs
// one of the others, and takes longer to begin than they take to dump a small schema.
func candidates() (paths []string, wrapper string, err error) {
	first, err := exec.LookPath("pg_dump")
	if err == nil {
		if target, err := filepath.EvalSymlinks(first); err == nil && filepath.Base(target) == "pg_wrapper" {
			wrapper = first
		} else {
			paths = append(paths, first)
		}
	}
	for _, directory := range directories {
		found, err := filepath.Glob(filepath.Join(directory, "pg_dump"))
		if err != nil {
			return nil, "", err // of the pattern
		}
		paths = append(paths, found...)
	}
	if wrapper != "" {
		paths = append(paths, wrapper)
	}
	return paths, wrapper, nil
}

// ask has a pg_dump say its version.
func ask(ctx context.Context, path string) (*program, error) {
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = environment()
	said, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	match := versionLine.FindStringSubmatch(string(said))
	if match == nil {
		return nil, fmt.Errorf("postgres: %s does not say its version", path)
	}
	major, err := strconv.Atoi(match[2])
	if err != nil {
		return nil, err
	}
	return &program{path: path, version: match[1], major: major}, nil
}

// environment returns the variables of a pg_dump. Of those of this process, which may name other servers, it gets only
// where programs are.
func environment(more ...string) []string {
	return slices.Concat([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}, more)
}
