package load

import (
	"slices"
	"strings"

	"culvert/cmd/culvert/internal/command"
	"culvert/load"
)

// parseType reads TABLE.COLUMN=TYPE, in which names may be in double quotes as in SQL, and TABLE may have a schema.
func parseType(text string) (load.ColumnType, error) {
	var names []string
	rest, ok := text, true
	for {
		var name string
		if name, rest, ok = cutName(rest); !ok || rest == "" {
			break
		}
		names = append(names, name)
		mark := rest[0]
		if rest = rest[1:]; mark == '=' {
			break
		}
	}
	made := strings.TrimSpace(rest)
	if !ok || len(names) < 2 || made == "" {
		return load.ColumnType{}, command.WithHint(command.Usagef("--type is TABLE.COLUMN=TYPE, not %q", text),
			`quote names that have a dot or an equals sign: --type '"a.b".id=bigint'`)
	}
	last := len(names) - 1
	return load.ColumnType{Table: strings.Join(names[:last], "."), Column: names[last], Type: made}, nil
}

// cutName cuts a name off a text, up to a dot or an equals sign behind it.
func cutName(text string) (name, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		end := strings.IndexAny(text, ".=")
		if end <= 0 {
			return "", "", false
		}
		return text[:end], text[end:], true
	}
	for at := 1; at < len(text); at++ {
		switch {
		case text[at] != '"':
		case strings.HasPrefix(text[at:], `""`):
			at++
		default:
			rest = text[at+1:]
			name = strings.ReplaceAll(text[1:at], `""`, `"`)
			return name, rest, name != "" && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "="))
		}
	}
	return "", "", false
}

// isTyped reports whether a name is one of a column, or of its table, that is to have another type.
func (f *tableFlags) isTyped(name string) bool {
	return slices.ContainsFunc(f.types, func(text string) bool {
		t, err := parseType(text)
		return err == nil && (name == t.Table || name == t.Table+"."+t.Column)
	})
}

// refuseTypes fails if tables are to have types that the schema of a whole database makes with their own.
func (r *work) refuseTypes(isMade bool) error {
	if !isMade || len(r.plan.Types) == 0 {
		return nil
	}
	return command.WithHint(command.Usagef("--type is for tables that are made one by one, not by the schema"),
		"name the tables")
}
