package jobfile

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/internal/lazyregexp"
)

// File returns the job file that --job names, or nil if there is none. It sets the flags of the command that the file
// names and the command line does not. A command that reads no rows of a database has no use for some of what an export
// does, and gets it in Ignored; other commands refuse what they have no use for. The errors have hints.
func (f *ChoiceFlags) File(cmd *cobra.Command) (*File, error) {
	if f.file == "" || f.read != nil {
		return f.read, nil
	}
	file, err := Read(f.file)
	if err == nil {
		err = file.checkSecrets(f.file)
	}
	if err == nil {
		f.Ignored, err = file.Apply(f.file, cmd.Flags())
	}
	if err == nil && f.reads && len(f.Ignored) > 0 {
		err = &Error{
			File: f.file, Text: fmt.Sprintf("%q is of no use here: the command has no flag for it", f.Ignored[0]),
			Hint: "leave it out of the file, or run the verb that it is for",
		}
	}
	if err != nil {
		return nil, Hinted(err)
	}
	if err := cmd.ValidateFlagGroups(); err != nil {
		return nil, command.WithHint(command.Usagef("%v", err), "the flags of the command line and of "+f.file+
			" do not fit together")
	}
	if !f.reads {
		f.Ignored = append(f.Ignored, file.dropRows()...)
	}
	f.read, f.tables = file, file.Tables
	return file, nil
}

// Hinted has the hint of an [*Error] shown, and makes it one of usage.
func Hinted(err error) error {
	wrong, is := errors.AsType[*Error](err)
	if !is {
		return err
	}
	err = command.Usagef("%s", wrong)
	if wrong.Hint != "" {
		err = command.WithHint(err, wrong.Hint)
	}
	return err
}

// checkSecrets refuses a file with a password in it.
func (f *File) checkSecrets(name string) error {
	for _, text := range []string{f.From, f.To} {
		if where, has := database.SecretIn(text); has {
			return &Error{
				File: name, Text: "there is a password in it, and a job file holds no secret",
				Hint: "put it into " + where + "; or put the whole address into a file: from-file",
			}
		}
	}
	return nil
}

// dropRows removes what is said about rows that are read, and returns the names of it.
func (f *File) dropRows() (names []string) {
	t := &f.Tables
	if len(t.Rows.Exclude) > 0 {
		names = append(names, "tables.rows")
	}
	if len(t.Named) > 0 {
		names = append(names, "conditions and columns of tables")
	}
	if f.Columns != "" {
		names = append(names, "columns")
	}
	t.Rows, t.Named = Rows{}, nil
	return names
}

// Source returns the arguments of a command with those of the file in place of what is missing: SOURCE, if there are
// none and no --dsn-file.
func (f *File) Source(cmd *cobra.Command, args []string) ([]string, error) {
	dsnFile := cmd.Flags().Lookup("dsn-file")
	switch {
	case f == nil || len(args) > 0 || dsnFile.Changed:
		return args, nil
	case f.FromFile != "":
		return args, dsnFile.Value.Set(f.FromFile)
	case f.From != "":
		return []string{f.From}, nil
	}
	return args, nil
}

var placeholder = lazyregexp.New(`\{([^{}]*)\}`)

// placeholders are what may stand in braces.
var placeholders = []string{"date", "time", "host", "database"}

// Expand returns where an export goes, for a moment. The database is asked for its name only if that is in it.
func (f *File) Expand(name string, now time.Time, nameOfDatabase func() (string, error)) (string, error) {
	var failed error
	now = now.UTC()
	to := placeholder.ReplaceAllStringFunc(f.To, func(braced string) string {
		var text string
		var err error
		switch what := strings.Trim(braced, "{}"); what {
		case "date":
			text = now.Format(time.DateOnly)
		case "time":
			text = now.Format("150405")
		case "host":
			text, err = os.Hostname()
		case "database":
			text, err = nameOfDatabase()
		default:
			hint := nearHint(what, placeholders)
			if hint == "" {
				hint = "braces have one of: " + strings.Join(placeholders, ", ")
			}
			err = Hinted(&Error{File: name, Text: fmt.Sprintf("there is no %s for the output", braced), Hint: hint})
		}
		if failed == nil {
			failed = err
		}
		return text
	})
	return to, failed
}

// CheckPlaceholders returns the error of an output that has others.
func (f *File) checkPlaceholders(name string) error {
	_, err := f.Expand(name, time.Time{}, func() (string, error) { return "database", nil })
	return err
}
