package load

import (
	"fmt"
	"strings"

	"culvert/cmd/culvert/internal/command"
	"culvert/load"
	"culvert/manifest"
)

// goesOn adds the command that makes the tables that are missing, if making them was interrupted. Those that are there
// have rows, so the same command would refuse them.
func (l *loading) goesOn(err error, all []load.Stats, m *manifest.Manifest) error {
	if err == nil || command.Is[*load.PartialError](err) || !l.o.create || l.o.ledger != "" || l.to == "" {
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
	next := fmt.Sprintf("to make the other tables: culvert load --create %s %s %s",
		command.ForShell(l.from), command.ForShell(l.to), strings.Join(missing, " "))
	return command.WithNext(err, next)
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
