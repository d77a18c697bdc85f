package dialect

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode/utf8"

	"culvert/source"
)

// updated is a column that gets a time when its row changes.
type updated struct{ column, now string }

// onUpdate translates ON UPDATE CURRENT_TIMESTAMP of a column that has a type, or returns false for any other clause.
func (t *translation) onUpdate(c source.ColumnDefinition, clause, column string) bool {
	const begin = "ON UPDATE "
	if len(clause) < len(begin) || !strings.EqualFold(clause[:len(begin)], begin) {
		return false
	}
	c.Default = clause[len(begin):]
	now, is := t.now(c, column)
	if t.to.Family() == source.MySQL {
		is = is && strings.HasPrefix(now, "CURRENT_TIMESTAMP") // the only one that it has
	}
	if is {
		t.updated = append(t.updated, updated{c.Name, now})
	}
	return is
}

// wasInstant reports whether a column of SQLite was a timestamp of MySQL, of which ON UPDATE was in UTC. MySQL has that
// clause only by the clock of the session, which is the same in a timestamp.
func (t *translation) wasInstant(c source.ColumnDefinition) bool {
	isSQLite := t.from.Dialect == source.SQLite && t.to.Family() == source.MySQL
	return isSQLite && c.As == "" && strings.EqualFold(c.Type, "timestamp") &&
		slices.Contains(c.Others, "ON UPDATE "+clocksOfSQLite[0])
}

// lacks returns what the definition lacks, without the trigger for which ON UPDATE stands.
func (t *translation) lacks() []string {
	if len(t.updated) == 0 {
		return t.from.Lacks
	}
	return slices.DeleteFunc(slices.Clone(t.from.Lacks), func(what string) bool {
		return what == `the trigger "`+clock+`"` || what == `the trigger "`+t.from.Name+"_"+clock+`"`
	})
}

// clock begins the names of triggers that set times.
const clock = "on_update_current_timestamp"

// triggers adds what sets times as MySQL does: when a row gets another value, unless the time is another one itself.
func (t *translation) triggers() {
	if len(t.updated) == 0 {
		return
	}
	switch t.to.Family() {
	case source.MySQL:
		for _, one := range t.updated {
			c := t.find(one.column)
			c.Others = append(c.Others, "ON UPDATE "+one.now)
		}
	case source.PostgreSQL:
		t.result.After = append(t.result.After, t.functionOfPostgres()...)
	case source.SQLite:
		row := t.rowName()
		switch {
		case len(t.updated) == len(t.result.Columns): // no other value changes
		case row == "":
			t.leave("ON UPDATE of columns")
		default:
			t.result.After = append(t.result.After, t.triggerOfSQLite(row))
		}
	}
}

// functionOfPostgres is a function that sets times, and its trigger. The function is one of that name from an earlier
// table of the same name, if that was dropped: PostgreSQL keeps it. Rows are compared by their bytes, since not all
// types have an equality.
func (t *translation) functionOfPostgres() []string {
	body := "BEGIN "
	for _, one := range t.updated {
		name := quote(t.to, one.column)
		body += "IF NEW." + name + " IS NOT DISTINCT FROM OLD." + name + " THEN NEW." + name + " := " + one.now +
			"; END IF; "
	}
	function := quote(t.to, functionName(t.result.Name))
	if t.result.Schema != "" {
		function = quote(t.to, t.result.Schema) + "." + function
	}
	return []string{
		"CREATE OR REPLACE FUNCTION " + function + "() RETURNS trigger LANGUAGE plpgsql AS " +
			text(body+"RETURN NEW; END"),
		"CREATE TRIGGER " + clock + " BEFORE UPDATE ON " + t.table() +
			" FOR EACH ROW WHEN (OLD.* OPERATOR(pg_catalog.*<>) NEW.*) EXECUTE FUNCTION " + function + "()",
	}
}

// functionName returns the name of the function of a table. One that PostgreSQL would cut ends with a hash, since two
// tables must not share it.
func functionName(table string) string {
	name := table + "_" + clock
	if unnameable(source.PostgreSQL, name) == "" {
		return name
	}
	const bytes = 4
	sum := sha256.Sum256([]byte(table))
	end := "_" + clock + "_" + hex.EncodeToString(sum[:bytes])
	for len(table)+len(end) > mostBytes {
		_, size := utf8.DecodeLastRuneInString(table)
		table = table[:len(table)-size]
	}
	return table + end
}

// triggerOfSQLite is a trigger that sets times. What it does itself changes nothing else, so it does not fire again,
// even with recursive triggers. Texts are compared by their bytes, whatever the collation of their column.
func (t *translation) triggerOfSQLite(row string) string {
	var was, is, sets []string
	for _, c := range t.result.Columns {
		name := quote(t.to, c.Name)
		i := slices.IndexFunc(t.updated, func(one updated) bool { return one.column == c.Name })
		if i < 0 {
			was, is = append(was, "OLD."+name+" COLLATE BINARY"), append(is, "NEW."+name)
			continue
		}
		sets = append(sets, settingOfSQLite(name, t.updated[i].now))
	}
	return "CREATE TRIGGER " + quote(t.to, t.result.Name+"_"+clock) + " AFTER UPDATE ON " + t.table() +
		" FOR EACH ROW WHEN (" + strings.Join(was, ", ") + ") IS NOT (" + strings.Join(is, ", ") + ") BEGIN UPDATE " +
		t.table() + " SET " + strings.Join(sets, ", ") + " WHERE " + row + " = NEW." + row + "; END"
}

// settingOfSQLite sets a column to a time, unless it is set otherwise.
func settingOfSQLite(name, now string) string {
	return name + " = CASE WHEN NEW." + name + " IS OLD." + name + " THEN " + now + " ELSE NEW." + name + " END"
}

// UpdatesOfSQLite returns when which columns are set by a trigger that stands for ON UPDATE CURRENT_TIMESTAMP of MySQL,
// as [Translate] makes it: an expression for each. It returns none for any other trigger, such as one that was changed.
func UpdatesOfSQLite(trigger, table string, columns []string) map[string]string {
	t := &translation{to: source.SQLite, result: &source.Definition{Name: table}}
	found := map[string]string{}
	for _, name := range columns {
		t.result.Columns = append(t.result.Columns, source.ColumnDefinition{Name: name})
		for _, now := range clocksOfSQLite {
			if strings.Contains(trigger, settingOfSQLite(quote(t.to, name), now)) {
				t.updated = append(t.updated, updated{name, now})
				found[name] = strings.TrimSuffix(strings.TrimPrefix(now, "("), ")")
			}
		}
	}
	if row := t.rowName(); len(t.updated) == 0 || row == "" || t.triggerOfSQLite(row) != trigger {
		return nil
	}
	return found
}

// rowName returns a name of the number that SQLite gives each row, which no column has, or "".
func (t *translation) rowName() string {
	for _, name := range []string{"rowid", "_rowid_", "oid"} {
		if !slices.ContainsFunc(t.result.Columns, func(c source.ColumnDefinition) bool {
			return sameName(source.SQLite, c.Name, name)
		}) {
			return name
		}
	}
	return ""
}
