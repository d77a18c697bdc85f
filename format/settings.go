package format

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"culvert/internal/lazyregexp"
)

// A comma in settings is part of a value unless the name of a setting follows.
var settingStart = lazyregexp.New(
	`(?s)^(.*?),((?:(?:delimiter|quote|escape|escapes|null|header|names|encoding|skip|comment|lines|for)=|` +
		`(?:trim|bom|csv|tsv|postgres|mysql)(?:,|$)).*)$`)

// ParseDialect returns what settings say, such as "delimiter=;,null=NULL": those that culvert help csv explains. Later
// ones override those before. The encoding is a name for package charset, which is not checked here, and "" for UTF-8.
func ParseDialect(all ...string) (d Dialect, encoding string, err error) {
	for _, settings := range all {
		for settings != "" {
			one, rest := settings, ""
			if parts := settingStart.FindStringSubmatch(settings); parts != nil {
				one, rest = parts[1], parts[2]
			}
			if name, is := strings.CutPrefix(one, "encoding="); is {
				encoding = name
			} else if err := d.set(one); err != nil {
				return d, encoding, fmt.Errorf("format: csv: %w", err)
			}
			settings = rest
		}
	}
	return d, encoding, d.Check()
}

// presets are dialects that have names.
var presets = map[string]Dialect{"csv": {}, "tsv": TSV, "postgres": PostgreSQLText, "mysql": MySQLText}

// readers are the dialects that programs load as they are, or with the fewest options: see culvert help csv.
var readers = map[string]Dialect{
	"excel":      {Delimiter: ";", LineEnd: "\r\n", Mark: true},
	"mysql":      MySQLText,
	"redshift":   {Null: `\N`, NoHeader: true},
	"snowflake":  {Null: `\N`, NoHeader: true},
	"bigquery":   {Null: `\N`},
	"clickhouse": {Null: `\N`},
	"duckdb":     {Null: `\N`},
}

// characters are those that a shell or a list makes hard to write.
var characters = map[string]string{
	"comma": ",", "semicolon": ";", "tab": "\t", `\t`: "\t", "pipe": "|", "space": " ", "backslash": `\`,
}

var (
	escapesNames = map[string]Escapes{
		"special": EscapeSpecial, "quoted": EscapeQuoted, "letters": EscapeLetters,
	}
	lineNames = map[string]string{"lf": "\n", "crlf": "\r\n", "cr": "\r", "any": ""}
)

func (d *Dialect) set(setting string) (err error) {
	name, value, has := strings.Cut(setting, "=")
	if !has {
		preset, is := presets[name]
		switch {
		case name == "trim":
			d.Trim = true
		case name == "bom":
			d.Mark = true
		case is:
			*d = preset
		default:
			return fmt.Errorf("there is no setting %q", name)
		}
		return nil
	}
	switch name {
	case "delimiter":
		if d.Delimiter = written(value); value == "" {
			return errors.New("the delimiter is missing")
		}
	case "quote":
		d.Quote, err = character(name, value)
		d.Unquoted = d.Quote == 0
	case "escape":
		if d.Escape, err = character(name, value); d.Escape == 0 {
			d.Escapes = EscapeSpecial
		}
	case "escapes":
		d.Escapes, err = choice(name, value, escapesNames)
	case "null":
		d.Null = value
	case "header":
		d.NoHeader, err = choice(name, value, map[string]bool{"yes": false, "no": true})
		d.Names = nil
	case "names":
		d.Names, _, err = CSV{}.Header([]byte(value + "\n"))
		d.NoHeader = true
	case "skip":
		if d.Skip, err = strconv.Atoi(value); err != nil {
			err = fmt.Errorf("skip is a number of lines, not %q", value)
		}
	case "comment":
		d.Comment = value
	case "for":
		*d, err = choice(name, value, readers)
	case "lines":
		d.LineEnd, err = choice(name, value, lineNames)
	default:
		return fmt.Errorf("there is no setting %q", name)
	}
	return err
}

// written is what a name of a character, or \x and two hexadecimal digits, stand for, and otherwise the text itself.
func written(value string) string {
	if known := characters[value]; known != "" {
		return known
	}
	if digits, is := strings.CutPrefix(value, `\x`); is && len(digits) == 2 {
		if b, err := strconv.ParseUint(digits, 16, 8); err == nil {
			return string([]byte{byte(b)})
		}
	}
	return value
}

// character returns a character of ASCII, or 0 for none.
func character(name, value string) (byte, error) {
	if value == "none" {
		return 0, nil
	}
	value = written(value)
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

// String returns the settings of a dialect, of which [ParseDialect] makes it again: the shortest of those that begin
// with a name, and "" for the zero value. Only what a comma in it makes ambiguous does not come back.
func (d Dialect) String() string {
	shortest := strings.Join(d.settingsAfter(Dialect{}), ",")
	for _, name := range slices.Sorted(maps.Keys(presets)) {
		settings := append([]string{name}, d.settingsAfter(presets[name])...)
		if text := strings.Join(settings, ","); name != "csv" && len(text) < len(shortest) {
			shortest = text
		}
	}
	return shortest
}

// settingsAfter returns the settings that make d of another dialect.
func (d Dialect) settingsAfter(base Dialect) (settings []string) {
	add := func(name, value string, is bool) {
		if is {
			settings = append(settings, name+"="+value)
		}
	}
	add("delimiter", nameOfCharacter(d.delimiter()), d.delimiter() != base.delimiter())
	quote := nameOfCharacter(string(rune(d.quote())))
	if d.Unquoted {
		quote = "none"
	}
	add("quote", quote, d.Unquoted != base.Unquoted || d.quote() != base.quote())
	escape := "none"
	if d.Escape != 0 {
		escape = nameOfCharacter(string(rune(d.Escape)))
	}
	add("escape", escape, d.Escape != base.Escape)
	add("escapes", keyOf(escapesNames, d.Escapes), d.Escapes != base.Escapes && d.Escape != 0)
	add("null", d.Null, d.Null != base.Null)
	if names := d.namesText(); names != "" {
		add("names", names, true)
	} else {
		add("header", map[bool]string{false: "yes", true: "no"}[d.NoHeader], d.NoHeader != base.NoHeader)
	}
	add("skip", strconv.Itoa(d.Skip), d.Skip != base.Skip)
	add("comment", d.Comment, d.Comment != base.Comment)
	add("lines", keyOf(lineNames, d.LineEnd), d.LineEnd != base.LineEnd)
	if d.Mark && !base.Mark {
		settings = append(settings, "bom")
	}
	if d.Trim && !base.Trim {
		settings = append(settings, "trim")
	}
	return settings
}

// namesText returns the names as a row. One that looks like a setting is quoted.
func (d Dialect) namesText() string {
	var text []byte
	for i, name := range d.Names {
		if i > 0 {
			text = append(text, ',')
		}
		if _, is := presets[name]; is || name == "trim" || name == "bom" || strings.Contains(name, "=") {
			text = append(append(append(text, '"'), strings.ReplaceAll(name, `"`, `""`)...), '"')
		} else {
			text = (&csvRows{}).appendValue(text, []byte(name))
		}
	}
	return string(text)
}

// nameOfCharacter returns how a delimiter, a quote or an escape is written if it is hard to write.
func nameOfCharacter(text string) string {
	switch text {
	case ",", "\t", " ":
		return keyOf(map[string]string{"comma": ",", "tab": "\t", "space": " "}, text)
	}
	if len(text) == 1 && (text[0] < ' ' || text[0] == 0x7f) {
		return fmt.Sprintf(`\x%02x`, text[0])
	}
	return text
}

// keyOf returns the key of a value.
func keyOf[T comparable](from map[string]T, value T) string {
	for key, one := range from {
		if one == value {
			return key
		}
	}
	return ""
}
