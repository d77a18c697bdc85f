package main

import (
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// release is what is made.
type release struct {
	source  string    // a clean clone
	dir     string    // of the files that are published
	stage   string    // of the files that go into each archive and package, besides the program
	module  string    // its path
	version string    // of the module: v1.2.3, or a pseudo-version if the commit has no tag
	date    time.Time // of the commit
}

// program is a program for one system.
type program struct{ path, goos, arch string }

// makeAll makes a release for some platforms.
func makeAll(source, dir string, chosen []string) error {
	work, err := os.MkdirTemp("", "culvert-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work) //nolint:errcheck // it is in the directory of temporary files
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	r := &release{source: source, dir: dir, stage: filepath.Join(work, "stage")}
	// One of this machine speaks for all: it prints the help and the completions.
	own, err := r.build(work, runtime.GOOS+"/"+runtime.GOARCH)
	if err == nil {
		err = r.identify(own.path)
	}
	if err == nil {
		err = r.prepare(own.path)
	}
	if err != nil {
		return err
	}
	var forImage []program
	for _, platform := range chosen {
		p, err := r.build(work, platform)
		if err == nil {
			err = errors.Join(r.archive(p), r.list(p))
		}
		if err == nil && p.goos == "linux" {
			err = r.packages(p)
			forImage = append(forImage, p)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
	}
	if len(forImage) > 0 {
		if err := r.image(work, forImage); err != nil {
			return fmt.Errorf("image: %w", err)
		}
	}
	return r.sum()
}

// build builds the program for a platform, static and without paths of this machine. The go command records the
// version, the commit and its date, by which culvert --version names them.
func (r *release) build(work, platform string) (program, error) {
	goos, arch, _ := strings.Cut(platform, "/")
	p := program{filepath.Join(work, goos+"_"+arch, "culvert"), goos, arch}
	if goos == "windows" {
		p.path += ".exe"
	}
	if _, err := os.Stat(p.path); err == nil {
		return p, nil // it was the one of this machine
	}
	r.say("building %s", platform)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", p.path, "./cmd/culvert")
	cmd.Dir = r.source
	// Variables that choose instructions or versions would change the bytes.
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1",
		"GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off")
	cmd.Stderr = os.Stderr
	return p, cmd.Run()
}

// identify reads from a program what it was built of.
func (r *release) identify(program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	r.module, r.version = info.Main.Path, info.Main.Version
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.time":
			r.date, err = time.Parse(time.RFC3339, setting.Value)
		case setting.Key == "vcs.modified" && setting.Value == "true":
			err = errors.New("the source has changes that are not committed")
		}
		if err != nil {
			return err
		}
	}
	if r.date.IsZero() || r.version == "" {
		return errors.New("the source is no clone of a repository")
	}
	r.say("Culvert %s of %s", r.version, r.date.Format(time.RFC3339))
	return nil
}

// completions are the files of the shells, by the shell.
var completions = map[string]string{"bash": "culvert.bash", "zsh": "_culvert", "fish": "culvert.fish"}

// prepare writes what goes into each archive and package.
func (r *release) prepare(program string) error {
	pages, err := manual(program, r.version, r.date)
	if err != nil {
		return err
	}
	scripts, units, texts := map[string][]byte{}, map[string][]byte{}, map[string][]byte{}
	for shell, name := range completions {
		if scripts[name], err = exec.Command(program, "completion", shell).Output(); err != nil {
			return fmt.Errorf("culvert completion %s: %w", shell, err)
		}
	}
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		if texts[name], err = os.ReadFile(filepath.Join(r.source, name)); err != nil {
			return err
		}
	}
	found, err := filepath.Glob(filepath.Join(r.files(), "culvert-*"))
	if err != nil {
		return err
	}
	hardening, err := os.ReadFile(filepath.Join(r.files(), "hardening.conf"))
	if err != nil {
		return err
	}
	for _, file := range found {
		unit, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if strings.HasSuffix(file, ".service") { // whose last section is [Service]
			unit = append(unit, hardening...)
		}
		units[filepath.Base(file)] = unit
	}
	return errors.Join(writeFiles(r.stage, texts), writeFiles(filepath.Join(r.stage, "man"), pages),
		writeFiles(filepath.Join(r.stage, "completions"), scripts),
		writeFiles(filepath.Join(r.stage, "systemd"), units))
}

// files is the directory of what is part of a release and not of the program.
func (r *release) files() string { return filepath.Join(r.source, "tools", "release", "files") }

// name returns the path of a file to publish.
func (r *release) name(p program, end string) string {
	version := strings.TrimPrefix(r.version, "v")
	return filepath.Join(r.dir, fmt.Sprintf("culvert_%s_%s_%s%s", version, p.goos, p.arch, end))
}

func (r *release) say(format string, args ...any) {
	_, _ = fmt.Fprintf(os.Stderr, format+"\n", args...)
}
