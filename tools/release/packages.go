package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // registers itself
	_ "github.com/goreleaser/nfpm/v2/deb" // registers itself
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers itself
)

// packages makes a deb, an rpm and an apk of a program.
func (r *release) packages(p program) error {
	for _, format := range []string{"deb", "rpm", "apk"} {
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(r.packageInfo(p, format)) // another for each: a packager changes it
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
	return &nfpm.Info{
		Name: "culvert", Arch: p.arch, Platform: "linux", Version: r.version, MTime: r.date,
		Section: "database", Priority: "optional", License: "Apache-2.0", Vendor: "Culvert",
		Maintainer:  "The authors of Culvert <culvert@localhost>",
		Description: "Tables out of a database, encrypted from the first byte\n" + about,
		Overridables: nfpm.Overridables{
			// The certificates of authorities, for buckets; pg_dump, for the schema of a whole database.
			Recommends: map[string][]string{"deb": {"ca-certificates", "postgresql-client"}}[format],
			Scripts:    scripts,
			Contents:   contents,
			RPM:        nfpm.RPM{BuildHost: "localhost", Summary: "Tables out of a database, encrypted"},
		},
	}
}

const about = `Culvert writes tables of PostgreSQL, MySQL, MariaDB and SQLite to encrypted
files, and fills tables from such files. The files are kept in a directory, on
another machine or in a bucket.`
