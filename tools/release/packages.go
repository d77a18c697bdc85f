package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // registers itself
	_ "github.com/goreleaser/nfpm/v2/deb" // registers itself
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers itself
)

// packages makes a deb, an rpm and an apk of a program.
func (r *release) packages(p program) error {
	maintainer, err := os.ReadFile(filepath.Join(r.files(), "maintainer"))
	if err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm", "apk"} {
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		info := r.packageInfo(p, format) // a new one for each format, since a packager changes it
		info.Maintainer = strings.TrimSpace(string(maintainer))
		info = nfpm.WithDefaults(info)
		name := filepath.Join(r.dir, packager.ConventionalFileName(info))
		err = create(name, func(w io.Writer) error { return packager.Package(info, w) })
		if err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
	}
	return nil
}

func (r *release) packageInfo(p program, format string) *nfpm.Info {
	zsh := "/usr/share/zsh/site-functions/_culvert"
	scripts := nfpm.Scripts{
		PostInstall: filepath.Join(r.files(), "installed.sh"),
		PreRemove:   filepath.Join(r.files(), "removing.sh"),
		PostRemove:  filepath.Join(r.files(), "installed.sh"), // which has systemd read its units again
	}
	switch format {
	case "deb":
		zsh = "/usr/share/zsh/vendor-completions/_culvert"
	case "apk": // whose systems have no systemd
		scripts = nfpm.Scripts{}
	}
	staged := func(from, to string) *files.Content {
		return &files.Content{
			Source: filepath.Join(r.stage, from), Destination: to, FileInfo: &files.ContentFileInfo{Mode: 0o644},
		}
	}
	contents := files.Contents{
		{Source: p.path, Destination: "/usr/bin/culvert", FileInfo: &files.ContentFileInfo{Mode: 0o755}},
		{Destination: "/etc/culvert", Type: files.TypeDir},
		{Destination: "/etc/culvert/jobs", Type: files.TypeDir},
		{Destination: "/usr/share/doc/culvert", Type: files.TypeDir}, // rpm removes only what a package has
		staged("man/*.1.gz", "/usr/share/man/man1/"),
		staged("man/*.7.gz", "/usr/share/man/man7/"),
		staged("completions/culvert.bash", "/usr/share/bash-completion/completions/culvert"),
		staged("completions/_culvert", zsh),
		staged("completions/culvert.fish", "/usr/share/fish/vendor_completions.d/culvert.fish"),
		staged("LICENSE", "/usr/share/doc/culvert/copyright"),
		staged("README.md", "/usr/share/doc/culvert/README.md"),
	}
	if format != "apk" {
		contents = append(contents, staged("systemd/*", "/usr/lib/systemd/system/"))
	}
	const summary = "Tables out of a database, encrypted"
	info := &nfpm.Info{
		Name: "culvert", Arch: p.arch, Platform: "linux", Version: r.version, MTime: r.date,
		Section: "database", Priority: "optional", License: "Apache-2.0", Vendor: "Culvert",
		Homepage: r.homepage(), Description: summary + "\n" + about,
		Overridables: nfpm.Overridables{
			// The certificates of authorities, for buckets; pg_dump, for the schema of a whole database.
			Recommends: map[string][]string{"deb": {"ca-certificates", "postgresql-client"}}[format],
			Scripts:    scripts,
			Contents:   contents,
			RPM:        nfpm.RPM{BuildHost: "localhost", Summary: summary},
		},
	}
	switch format {
	case "rpm":
		info.Description = about // the summary is beside it
	case "apk":
		info.Description = summary // a line is a field there
		info.Version, info.VersionSchema, info.Release = apkVersion(r.version), "none", "0"
	}
	return info
}

// homepage returns where the module is published, or "" while its path is one that nobody can fetch.
func (r *release) homepage() string {
	if host, _, _ := strings.Cut(r.module, "/"); strings.Contains(host, ".") {
		return "https://" + r.module
	}
	return ""
}

var (
	unreleased = regexp.MustCompile(`-(?:[0-9A-Za-z.]+\.)?(\d{14})-[0-9a-f]{12}(?:\+.*)?$`)
	prerelease = regexp.MustCompile(`^(alpha|beta|pre|rc)[.-]?(\d*)$`)
)

// apkVersion returns a version in the form of Alpine's packages, which allow few words after the numbers. Words such as
// pre and rc sort before the release. It is 1.2.3_pre with the time for a commit without a tag, and 1.2.3_rc1 for
// v1.2.3-rc.1.
func apkVersion(version string) string {
	numbers, after, _ := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	numbers, _, _ = strings.Cut(numbers, "+")
	if found := unreleased.FindStringSubmatch(version); found != nil {
		return numbers + "_pre" + found[1]
	}
	after, _, _ = strings.Cut(after, "+")
	if found := prerelease.FindStringSubmatch(after); found != nil {
		return numbers + "_" + found[1] + found[2]
	}
	if after != "" {
		return numbers + "_pre"
	}
	return numbers
}

const about = `Culvert writes tables of PostgreSQL, MySQL, MariaDB and SQLite to encrypted
files, and fills tables from such files. The files are kept in a directory, on
another machine or in a bucket.`
