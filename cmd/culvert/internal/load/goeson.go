package load

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/jobfile"
	"culvert/internal/namepattern"
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
	var excluded []string
	if len(missing) > most && !l.named {
		excluded, missing = excludedOf(m, done), nil
	}
	if names := len(missing) + len(excluded); names == 0 || names > most || len(missing) == len(wanted) {
		return err
	}
	words := slices.Concat([]string{"culvert load"}, flagsGiven(l.o.flags), excluded)
	words = append(words, command.ForShell(l.from))
	if l.to != "" { // otherwise a flag names the database
		words = append(words, command.ForShell(l.to))
	}
	words = append(words, missing...)
	return command.WithNext(err, "to make the other tables: "+strings.Join(words, " "))
}

// excludedOf returns the flags that leave out the tables that are done.
func excludedOf(m *manifest.Manifest, done map[string]bool) (flags []string) {
	for i := range m.Tables {
		if t := &m.Tables[i]; done[t.Name] {
			flags = append(flags, "--exclude="+command.ForShell(namepattern.Quote(jobfile.NameOf(t)...)))
		}
	}
	return flags
}

// typed returns a command as the user has typed it, with the flags first.
func typed(cmd *cobra.Command, args []string) string {
	words := append([]string{cmd.CommandPath()}, flagsGiven(cmd.Flags())...)
	for _, argument := range args {
		words = append(words, command.ForShell(argument))
	}
	return strings.Join(words, " ")
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
