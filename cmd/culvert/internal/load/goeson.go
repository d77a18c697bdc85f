package load

import (
	"strings"

	"github.com/spf13/pflag"

	"culvert/cmd/culvert/internal/command"
	"culvert/load"
	"culvert/manifest"
)

// goesOn adds the command that makes the tables that are missing, if making them was interrupted. Those that are there
// have rows, so the same command would refuse them.
func (l *loading) goesOn(err error, all []load.Stats, m *manifest.Manifest) error {
	if err == nil || command.Is[*load.PartialError](err) || !l.o.create || l.o.ledger != "" {
		return err
	}
	done := map[string]bool{}
	for _, stats := range all {
		done[stats.Name] = stats.Err == nil || stats.Rows > 0
	}
	wanted := l.wanted(m)
	var missing []string
	for _, t := range wanted {
		if done[t.from] {
			continue
		}
		name := t.from
		if t.renamed {
			name += "=" + t.to
		}
		missing = append(missing, command.ForShell(name))
	}
	const most = 20 // names that a person reads
	if len(missing) == 0 || len(missing) == len(wanted) || len(missing) > most {
		return err
	}
	words := append([]string{"culvert load"}, flagsGiven(l.o.flags)...)
	words = append(words, command.ForShell(l.from))
	if l.to != "" { // otherwise a flag names the database
		words = append(words, command.ForShell(l.to))
	}
	words = append(words, missing...)
	return command.WithNext(err, "to make the other tables: "+strings.Join(words, " "))
}

// flagsGiven returns the flags that the user has given, as they have to be typed, in alphabetical order.
func flagsGiven(flags *pflag.FlagSet) (words []string) {
	flags.Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if several, is := f.Value.(pflag.SliceValue); is {
			values = several.GetSlice()
		}
		for _, value := range values {
			switch f.Value.Type() {
			case "bool":
				value = strings.TrimPrefix("="+value, "=true")
			case "stringSlice": // commas separate its values
				value = "=" + command.ForShell(quoteComma(value))
			default:
				value = "=" + command.ForShell(value)
			}
			words = append(words, "--"+f.Name+value)
		}
	})
	return words
}

// quoteComma writes a value of a list so that it is read as one.
func quoteComma(value string) string {
	if !strings.ContainsAny(value, ",\"") {
		return value
	}
	return `"` + strings.ReplaceAll(value, `"`, `""`) + `"`
}

// wanted are the tables that are to be loaded.
func (l *loading) wanted(m *manifest.Manifest) []target {
	if len(l.tables) > 0 {
		return l.tables
	}
	var tables []target
	for i := range m.Tables {
		tables = append(tables, target{from: m.Tables[i].Name})
	}
	return tables
}
