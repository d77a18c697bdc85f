package argument

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/manifest"
	"culvert/secureconn"
)

// anyone is the author that a user names who trusts every export, signed or not.
const anyone = "anyone"

// AuthorFlags say whose exports are trusted.
type AuthorFlags struct {
	from    []string
	authors []string // fingerprints
}

// Add adds the flags to a command; does is what it does with the export.
func (f *AuthorFlags) Add(cmd *cobra.Command, does string) {
	cmd.Flags().StringArrayVar(&f.from, "from", nil,
		does+" only an export that `AUTHOR` has signed: a fingerprint, a file of them, or anyone; repeatable")
}

// Given reports whether authors are named.
func (f *AuthorFlags) Given() bool { return len(f.from) > 0 }

// Read reads the files that the flags name. It comes before the other methods.
func (f *AuthorFlags) Read(ctx context.Context, a *command.App) (err error) {
	named := slices.DeleteFunc(slices.Clone(f.from), func(value string) bool { return value == anyone })
	f.authors, err = Fingerprints(a.KeyReader(ctx, &command.PassphraseFlags{}), "--from", named)
	return command.WithHint(err, "culvert help authors")
}

// RefuseFile refuses the flags for what is not the directory of an export.
func (f *AuthorFlags) RefuseFile(name string) error {
	if !f.Given() {
		return nil
	}
	return command.WithHint(command.Usagef("--from: %s is a file, and the manifest of its directory says who made it",
		name), "name the directory of the export, if it is in one: culvert help authors")
}

// Check fails unless an export is by an author whom the flags name. Without flags, it succeeds.
func (f *AuthorFlags) Check(name string, m *manifest.Manifest) error {
	author := Author(m)
	switch {
	case !f.Given(), slices.Contains(f.from, anyone), author != "" && slices.Contains(f.authors, author):
		return nil
	case author == "":
		return command.WithHint(refuse(name, "the export is not signed"),
			"to trust it nevertheless: --from anyone")
	}
	return command.WithHint(refuse(name, "the export is signed by "+author+", whom --from does not name"),
		"only if you know that this is the author's fingerprint: --from "+author)
}

// CheckCode is Check for what runs the SQL of an export, which may be anything. Without flags, the author must be
// oneself.
func (f *AuthorFlags) CheckCode(
	ctx context.Context, a *command.App, keys *command.DecryptFlags, name string, m *manifest.Manifest,
) error {
	author := Author(m)
	if f.Given() {
		return f.Check(name, m)
	}
	const trust = "trust it nevertheless, and run its SQL: --from anyone"
	if author == "" {
		return command.WithHint(refuse(name, "the export is not signed, and to make its tables is to run its SQL"),
			trust, "culvert help authors")
	}
	is, err := keys.IsOwn(ctx, a, author)
	if is || err != nil {
		return err
	}
	return command.WithHint(refuse(name, "the export is by another author, and to make its tables is to run its SQL"),
		"only if you know that this is the author's fingerprint: --from "+author, "culvert help authors")
}

func refuse(name, why string) error {
	return command.Rephrase(command.ErrAuthor, fmt.Sprintf("%s: %s", name, why))
}

// Author returns the fingerprint of whoever has signed a manifest, or "".
func Author(m *manifest.Manifest) string {
	if m.Author() == nil {
		return ""
	}
	return secureconn.Fingerprint(m.Author())
}
