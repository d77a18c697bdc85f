package argument

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/format"
	"culvert/format/charset"
)

// CSVFlags say how a text is written that another program has made: see culvert help csv.
type CSVFlags struct{ settings []string }

// Add adds the flag to a command.
func (f *CSVFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.settings, "csv", nil,
		"read CSV of another program, as `SETTINGS` say: see culvert help csv; repeatable")
}

// Given reports whether there is any setting.
func (f *CSVFlags) Given() bool { return len(f.settings) > 0 }

// Dialect returns how the text is written, once it is UTF-8. Its errors are of usage.
func (f *CSVFlags) Dialect() (format.Dialect, error) {
	d, _, err := f.parse()
	return d, err
}

// Decode returns a text in UTF-8.
func (f *CSVFlags) Decode(r io.Reader) (io.Reader, error) {
	_, encoding, err := f.parse()
	if err != nil || encoding == "" {
		return r, err
	}
	return charset.NewReader(r, encoding)
}

func (f *CSVFlags) parse() (d format.Dialect, encoding string, err error) {
	d, encoding, err = format.ParseDialect(f.settings...)
	if err == nil && encoding != "" {
		_, err = charset.NewReader(nil, encoding)
	}
	if err != nil {
		reason := strings.TrimPrefix(command.Plain(err), "csv: ")
		err = command.WithHint(command.Usagef("--csv: %s", reason), "see: culvert help csv")
	}
	return d, encoding, err
}
