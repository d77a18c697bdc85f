// Package sqltext writes names, arrays and ranges of rows as SQL of PostgreSQL.
package sqltext

import (
	"errors"
	"strconv"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/internal/sqlsource"
	"culvert/source"
)

// Quote writes a name as an SQL identifier.
func Quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Literal writes a text as an SQL constant, which the setting standard_conforming_strings must govern.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Array writes texts as a PostgreSQL array.
func Array(texts []string) string {
	quoted := make([]string, len(texts))
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for i, text := range texts {
		quoted[i] = `"` + escape.Replace(text) + `"`
	}
	return "{" + strings.Join(quoted, ",") + "}"
}

// Pages is the Range.By of ranges of pages.
const Pages = "ctid"

// Place returns the first ctid of a place: a page, or a line of one of the lines that each page has. Line 0 is before
// the first row of a page.
func Place(place, perPage int64) string {
	page, line := place/perPage, place%perPage
	if line > 0 {
		line++ // the first row has line 1
	}
	return "(" + strconv.FormatInt(page, 10) + "," + strconv.FormatInt(line, 10) + ")"
}

// TID returns a ctid as SQL.
func TID(ctid string) string { return "'" + ctid + "'::pg_catalog.tid" }

// Between returns the condition of the rows from one ctid up to another.
func Between(from, to string) string {
	return "ctid OPERATOR(pg_catalog.>=) " + TID(from) + " AND ctid OPERATOR(pg_catalog.<) " + TID(to)
}

// NoPages is the condition of a range without pages.
var NoPages = Between("(0,0)", "(0,0)")

var errRange = errors.New("its range is not one of PostgreSQL")

// Condition returns the condition of a range, or "" for all rows. The operators are the system's, whatever the search
// path.
func Condition(r source.Range) (string, error) {
	var place string // what is compared
	var value func(text string) (string, error)
	switch {
	case r == source.Range{}:
		return "", nil
	case r.By == Pages:
		place, value = "ctid", tidOf
	default:
		columns, err := sqlsource.ReadTexts(r.By)
		if err != nil {
			return "", errRange
		}
		place = rowOf(columns, Quote)
		value = func(text string) (string, error) {
			values, err := sqlsource.ReadTexts(text)
			if err != nil || len(values) != len(columns) {
				return "", errRange
			}
			return rowOf(values, escaped), nil
		}
	}
	var conditions []string
	for _, end := range []struct{ operator, text string }{{">=", r.From}, {"<", r.To}} {
		if end.text == "" {
			continue
		}
		limit, err := value(end.text)
		if err != nil {
			return "", err
		}
		conditions = append(conditions, place+" OPERATOR(pg_catalog."+end.operator+") "+limit)
	}
	return strings.Join(conditions, " AND "), nil
}

var tidText = lazyregexp.New(`^\([0-9]{1,10},[0-9]{1,5}\)$`)

// tidOf is TID for a text that may be anything.
func tidOf(text string) (string, error) {
	if !tidText.MatchString(text) {
		return "", errRange
	}
	return TID(text), nil
}

// rowOf writes one or several values as SQL.
func rowOf(values []string, write func(string) string) string {
	list := make([]string, len(values))
	for i, value := range values {
		list[i] = write(value)
	}
	if len(list) == 1 {
		return list[0]
	}
	return "ROW(" + strings.Join(list, ", ") + ")"
}

// escaped writes a text as an SQL constant of no type, which so takes the type and the collation of the column that it
// is compared with. With E, it means the same whatever the setting standard_conforming_strings.
func escaped(text string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}
