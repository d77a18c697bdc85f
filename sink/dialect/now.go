package dialect

import (
	"cmp"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/source"
)

// moment is a default that is the time at which a row is added: in UTC, or else by the clock of the session.
type moment struct{ date, utc bool }

// moments are such defaults, in lower case, without spaces and precision.
var moments = map[source.Dialect]map[string]moment{
	source.PostgreSQL: {
		"now()": {}, "current_timestamp": {}, "current_timestamp()": {}, "localtimestamp": {}, "localtimestamp()": {},
		"transaction_timestamp()": {}, "statement_timestamp()": {}, "clock_timestamp()": {},
		"timezone('utc'::text,now())": {utc: true}, "(now()attimezone'utc'::text)": {utc: true},
		"timezone('utc'::text,current_timestamp)": {utc: true}, "(current_timestampattimezone'utc'::text)": {utc: true},
		"current_date": {date: true}, "(now())::date": {date: true},
	},
	source.MySQL: {
		"current_timestamp": {}, "current_timestamp()": {}, "now()": {}, "utc_timestamp()": {utc: true},
		"curdate()": {date: true}, "utc_date()": {date: true, utc: true},
	},
	source.SQLite: {
		"current_timestamp": {utc: true}, "datetime('now')": {utc: true}, "datetime('now','localtime')": {},
		"strftime('%y-%m-%d%h:%m:%f+00','now')": {utc: true},
		"current_date":                          {date: true, utc: true}, "date('now')": {date: true, utc: true},
		"date('now','localtime')": {date: true},
	},
}

// clocksOfSQLite are the times of SQLite that columns get: in UTC, by the clock of the session, and with the zone.
var clocksOfSQLite = []string{
	"CURRENT_TIMESTAMP", "(datetime('now', 'localtime'))", "(strftime('%Y-%m-%d %H:%M:%f+00', 'now'))",
}

// precision matches the digits of a second of a function.
var precision = lazyregexp.New(`\([0-6]\)`)

// momentOf understands a default that is a time, whatever its precision, which is that of the column.
func momentOf(from source.Dialect, expression string) (moment, bool) {
	text := strings.ToLower(strings.ReplaceAll(expression, " ", ""))
	if from != source.SQLite {
		text = precision.ReplaceAllString(text, "()")
	}
	m, is := moments[from.Family()][text]
	return m, is
}

// now translates a default that is a time, for a column that has a type. It returns false if the column has no time of
// this kind. Instants of MySQL become UTC in SQLite.
func (t *translation) now(c source.ColumnDefinition, column string) (string, bool) {
	m, is := momentOf(t.from.Dialect, c.Default)
	if !is {
		return "", false
	}
	base, modifiers, _ := strings.Cut(column, "(")
	if modifiers != "" {
		modifiers = "(" + modifiers
	}
	isInstant := t.from.Dialect.Family() == source.MySQL && strings.HasPrefix(c.Type, "timestamp")
	isDate := base == "date" || base == "DATE"
	if m.date != isDate {
		return "", false
	}
	switch t.to.Family() {
	case source.PostgreSQL:
		switch {
		case isDate && m.utc:
			return "((CURRENT_TIMESTAMP AT TIME ZONE 'UTC')::date)", true
		case isDate:
			return "CURRENT_DATE", true
		case base == "timestamptz":
			return "CURRENT_TIMESTAMP", true
		case base == "timestamp" && m.utc:
			return "(CURRENT_TIMESTAMP AT TIME ZONE 'UTC')", true
		case base == "timestamp":
			return "LOCALTIMESTAMP", true
		}
	case source.MySQL:
		switch {
		case isDate && m.utc:
			return "(utc_date())", true
		case isDate:
			return "(curdate())", true
		case base == "timestamp", base == "datetime" && !m.utc:
			return "CURRENT_TIMESTAMP" + modifiers, true
		case base == "datetime":
			return "(utc_timestamp" + cmp.Or(modifiers, "()") + ")", true
		}
	case source.SQLite:
		switch {
		case isDate && m.utc:
			return "CURRENT_DATE", true
		case isDate:
			return "(date('now', 'localtime'))", true
		case base == "TIMESTAMPTZ":
			return clocksOfSQLite[2], true
		case base == "TIMESTAMP" && (m.utc || isInstant):
			return clocksOfSQLite[0], true
		case base == "TIMESTAMP":
			return clocksOfSQLite[1], true
		}
	}
	return "", false
}
