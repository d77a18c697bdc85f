package masking

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/internal/lazyregexp"
	"culvert/internal/publish"
	"culvert/mask"
)

// A list of columns says which columns of a job were reviewed, so that a run can name those that are new. It is a file
// beside the job file, which is committed with it. The manifest of the last export could say the same, but the job may
// not be able to read it: it is often encrypted to others, in a bucket that the job may only write to, under a name
// with the date. And a reviewer would not see it change.

// maxColumns is the most bytes of a list.
const maxColumns = 16 << 20

var plainName = lazyregexp.New(`^[a-z_][a-z0-9_]*$`)

// columnName returns the line of a column in a list: its schema, its table and its name, quoted as in SQL.
func columnName(parts []string) string {
	quoted := make([]string, len(parts))
	for i, part := range parts {
		quoted[i] = part
		if !plainName.MatchString(part) {
			quoted[i] = `"` + strings.ReplaceAll(part, `"`, `""`) + `"`
		}
	}
	return strings.Join(quoted, ".")
}

// Leaving returns the columns of tables that leave, as in a list, in order: those that no rule drops, of tables with
// rows. It needs no key.
func (f *Flags) Leaving(plan *export.Plan, tables []mask.Table) ([]string, error) {
	policy, err := f.rulesOf(tables)
	if err != nil {
		return nil, err
	}
	return columnsOf(withRows(plan, WithoutDropped(policy, tables))), nil
}

// withRows returns the tables of users of which a plan has rows.
func withRows(plan *export.Plan, tables []mask.Table) []mask.Table {
	return slices.DeleteFunc(slices.Clone(tables), func(t mask.Table) bool {
		return plan.Choices[t.Name].NoRows || plan.Schema != nil && plan.Schema.StagedIn(t.Name) != ""
	})
}

func columnsOf(tables []mask.Table) (all []string) {
	for _, t := range tables {
		parts := partsOf(t)
		if parts[0] == "" {
			parts = parts[1:] // SQLite has no schemas
		}
		for _, c := range t.Columns {
			all = append(all, columnName(append(slices.Clip(parts), c.Name)))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ReadColumns reads a list. It returns the columns in order.
func ReadColumns(name string) (all []string, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxColumns+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	if len(text) > maxColumns {
		return nil, fmt.Errorf("%s: it is larger than %d MiB, so it is no list of columns", name, maxColumns>>20)
	}
	if all, err = parseColumns(text); err != nil {
		return nil, fmt.Errorf("%s: it is no list of columns: %w", name, err)
	}
	return all, nil
}

// parseColumns parses a list. A name in quotes may have any characters, also line ends.
func parseColumns(text []byte) (all []string, err error) {
	rest := text
	for len(rest) > 0 {
		if line, after, _ := bytes.Cut(rest, []byte("\n")); rest[0] == '#' || len(bytes.TrimSpace(line)) == 0 {
			rest = after
			continue
		}
		var parts []string
		at := rest
		if parts, rest, err = parseColumn(rest); err != nil {
			return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(text[:len(text)-len(at)], []byte("\n")), err)
		}
		all = append(all, columnName(parts))
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// parseColumn parses a name with its line end, and returns what follows.
func parseColumn(text []byte) (parts []string, rest []byte, err error) {
	for rest = text; ; rest = rest[1:] { // a period
		var part string
		if part, rest, err = parsePart(rest); err != nil {
			return nil, nil, err
		}
		if parts = append(parts, part); len(rest) == 0 || rest[0] != '.' {
			break
		}
	}
	line, rest, _ := bytes.Cut(rest, []byte("\n"))
	if len(bytes.TrimSpace(line)) > 0 || len(parts) < 2 || len(parts) > 3 {
		return nil, nil, errors.New("a line is schema.table.column, or in SQLite table.column")
	}
	return parts, rest, nil
}

func parsePart(text []byte) (part string, rest []byte, err error) {
	if len(text) > 0 && text[0] == '"' {
		var name []byte
		for rest = text[1:]; ; {
			at := bytes.IndexByte(rest, '"')
			if at < 0 {
				return "", nil, errors.New("a quote has no end")
			}
			name, rest = append(name, rest[:at]...), rest[at+1:]
			if len(rest) == 0 || rest[0] != '"' {
				return string(name), rest, nil
			}
			name, rest = append(name, '"'), rest[1:]
		}
	}
	isOther := func(r rune) bool { return r < 0x80 && r != '_' && r != '$' && !isLetterOrDigit(r) }
	end := bytes.IndexFunc(text, isOther)
	if end < 0 {
		end = len(text)
	}
	if end == 0 {
		return "", nil, errors.New("a name is empty, or needs quotes")
	}
	return string(text[:end]), text[end:], nil
}

func isLetterOrDigit(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// WriteColumns writes a list, in place of one that there is. Job is the job file, which it names.
func WriteColumns(name, job string, all []string) (err error) {
	text := "# The columns that leave, as they were reviewed. Written by: culvert job columns " +
		ui.Line(command.ForShell(job)) + "\n"
	for _, one := range all {
		text += one + "\n"
	}
	if len(text) > maxColumns {
		return fmt.Errorf("%s: the list of columns would be larger than %d MiB", name, maxColumns>>20)
	}
	file, err := publish.Create(name, 0o644)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(file, text); err != nil {
		return errors.Join(err, file.Discard())
	}
	return file.Commit(true)
}

// Without returns the columns that a list does not have. Both are in order.
func Without(all, list []string) (others []string) {
	for _, one := range all {
		if _, has := slices.BinarySearch(list, one); !has {
			others = append(others, one)
		}
	}
	return others
}

// Compare has Look compare the columns that leave with the list of a job file.
func (f *Flags) Compare(list, job string) { f.list, f.job = list, job }

// Compares reports whether there is a list.
func (f *Flags) Compares() bool { return f.list != "" }

// NewColumns are those that leave and that the list does not have, once Look was called.
func (f *Flags) NewColumns() []string { return f.fresh }

// compare names the columns of tables that are new. With strict, it refuses them.
func (f *Flags) compare(a *command.App, plan *export.Plan, read []mask.Table) error {
	if f.list == "" {
		return nil
	}
	write := "culvert job columns " + command.ForShell(f.job)
	list, err := ReadColumns(f.list)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.strict:
		return command.WithHint(fmt.Errorf("the list of columns %s does not exist", f.list), "write it: "+write)
	case errors.Is(err, fs.ErrNotExist):
		a.Console.Warn(fmt.Sprintf("the list of columns %s does not exist, so it is not known which columns are new; "+
			"%s writes it", f.list, write))
		return nil
	case err != nil:
		return err
	}
	f.fresh = Without(columnsOf(withRows(plan, read)), list)
	if len(f.fresh) == 0 {
		return nil
	}
	if f.strict {
		names := f.fresh
		if len(names) > maxNamed {
			names = append(slices.Clone(names[:maxNamed]), fmt.Sprintf("and %d more", len(names)-maxNamed))
		}
		return command.WithHint(fmt.Errorf("columns are new, and not in %s: %s", f.list, strings.Join(names, ", ")),
			"review them, and write the list anew: "+write)
	}
	for _, one := range f.fresh {
		a.Console.Warn(fmt.Sprintf("the column %s is new: it is not in %s", one, f.list))
	}
	return nil
}
