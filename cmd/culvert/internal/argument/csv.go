package argument

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/format"
	"culvert/format/charset"
	"culvert/internal/lazyregexp"
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
	one, err := ParseDialect(f.settings...)
	if err != nil {
		return one.Dialect, command.WithHint(command.Usagef("--csv: %s", err), "see: culvert help csv")
	}
	return one.Dialect, nil
}

// Decode returns a text in UTF-8.
func (f *CSVFlags) Decode(r io.Reader) (io.Reader, error) {
	one, err := ParseDialect(f.settings...)
	if err != nil || one.Encoding == "" {
		return r, err
	}
	return charset.NewReader(r, one.Encoding)
}

// Dialect is how a file of CSV is written.
type Dialect struct {
	format.Dialect
	Encoding string // as package charset knows it; "" is UTF-8
}

// A comma in settings is part of a value unless the name of a setting follows.
var settingStart = lazyregexp.New(
	`(?s)^(.*?),((?:(?:delimiter|quote|escape|escapes|null|header|names|encoding|skip|comment|lines)=|` +
		`(?:trim|csv|tsv|postgres|mysql)(?:,|$)).*)$`)

// ParseDialect returns what settings say, such as "delimiter=;,null=NULL". Later ones override those before.
func ParseDialect(all ...string) (d Dialect, err error) {
	for _, settings := range all {
		for settings != "" {
			one, rest := settings, ""
			if parts := settingStart.FindStringSubmatch(settings); parts != nil {
				one, rest = parts[1], parts[2]
			}
			if err := d.set(one); err != nil {
				return d, err
			}
			settings = rest
		}
	}
	if d.Encoding != "" {
		if _, err := charset.NewReader(nil, d.Encoding); err != nil {
			return d, errors.New(strings.TrimPrefix(err.Error(), "charset: "))
		}
	}
	if err := d.Check(); err != nil {
		return d, errors.New(strings.TrimPrefix(err.Error(), "format: csv: "))
	}
	return d, nil
}

// presets are dialects that have names.
var presets = map[string]format.Dialect{
	"csv": {}, "tsv": format.TSV, "postgres": format.PostgreSQLText, "mysql": format.MySQLText,
}

// characters are those that a shell or a list makes hard to write.
var characters = map[string]string{
	"comma": ",", "semicolon": ";", "tab": "\t", `\t`: "\t", "pipe": "|", "space": " ", "backslash": `\`,
}

func (d *Dialect) set(setting string) (err error) {
	name, value, has := strings.Cut(setting, "=")
	if !has {
		preset, is := presets[name]
		switch {
		case name == "trim":
			d.Trim = true
		case is:
			d.Dialect = preset
		default:
			return fmt.Errorf("there is no setting %q", name)
		}
		return nil
	}
	switch name {
	case "delimiter":
		if d.Delimiter = value; characters[value] != "" {
			d.Delimiter = characters[value]
		}
		if value == "" {
			return errors.New("the delimiter is missing")
		}
	case "quote":
		d.Quote, err = character(name, value)
		d.Unquoted = d.Quote == 0
	case "escape":
		if d.Escape, err = character(name, value); d.Escape == 0 {
			d.Escapes = format.EscapeSpecial
		}
	case "escapes":
		d.Escapes, err = choice(name, value, map[string]format.Escapes{
			"special": format.EscapeSpecial, "quoted": format.EscapeQuoted, "letters": format.EscapeLetters,
		})
	case "null":
		d.Null = value
	case "header":
		d.NoHeader, err = choice(name, value, map[string]bool{"yes": false, "no": true})
		d.Names = nil
	case "names":
		d.Names, _, err = format.CSV{}.Header([]byte(value + "\n"))
		d.NoHeader = true
	case "encoding":
		d.Encoding = value
	case "skip":
		if d.Skip, err = strconv.Atoi(value); err != nil {
			err = fmt.Errorf("skip is a number of lines, not %q", value)
		}
	case "comment":
		d.Comment = value
	case "lines":
		d.LineEnd, err = choice(name, value, map[string]string{"lf": "\n", "crlf": "\r\n", "cr": "\r", "any": ""})
	default:
		return fmt.Errorf("there is no setting %q", name)
	}
	return err
}

// character returns a character of ASCII, or 0 for none.
func character(name, value string) (byte, error) {
	if value == "none" {
		return 0, nil
	}
	if known := characters[value]; known != "" {
		value = known
	}
	if len(value) != 1 || value[0] >= 0x80 || value[0] == 0 {
		return 0, fmt.Errorf("%s is one character of ASCII or none, not %q", name, value)
	}
	return value[0], nil
}

func choice[T any](name, value string, from map[string]T) (T, error) {
	chosen, is := from[value]
	if !is {
		return chosen, fmt.Errorf("%s is %s, not %q", name, strings.Join(slices.Sorted(maps.Keys(from)), " or "), value)
	}
	return chosen, nil
}
