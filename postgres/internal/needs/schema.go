package needs

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/postgres/internal/sqltext"
	"culvert/source"
)

// Columns is the number of columns of [ClosureSQL].
const Columns = 9

// object is a row of [ClosureSQL].
type object struct {
	key, name, sql string
	comment        string // what a comment is on, or ""
	text           string // of the comment
	comes          bool   // it comes with what it needs
	later          bool   // it comes with one of the tables
	needs          []*object
	tables         map[int]bool // by their places

	begun, ordered bool
	lacks          string // why it cannot be made
}

// errAnswer is the error of rows that are not those of [ClosureSQL].
var errAnswer = errors.New("the server sent an unexpected answer")

// Schema returns the schema of the rows of [ClosureSQL] for tables of some names.
func Schema(rows [][][]byte, tables []string) (*source.Schema, error) {
	all := make([]*object, len(rows))
	byKey := map[string]*object{}
	for i, row := range rows {
		o := &object{
			key: string(row[0]), name: string(row[1]), sql: string(row[2]), comment: string(row[3]),
			text: string(row[4]), comes: string(row[5]) == "t", later: string(row[6]) == "t",
			tables: map[int]bool{},
		}
		all[i], byKey[o.key] = o, o
		var places []int
		if err := json.Unmarshal(row[8], &places); err != nil {
			return nil, errAnswer
		}
		for _, place := range places {
			if place < 0 || place >= len(tables) {
				return nil, errAnswer
			}
			o.tables[place] = true
		}
	}
	for i, row := range rows {
		var keys []string
		if err := json.Unmarshal(row[7], &keys); err != nil {
			return nil, errAnswer
		}
		for _, key := range keys {
			if needed := byKey[key]; needed != nil { // otherwise it is one of the system
				all[i].needs = append(all[i].needs, needed)
			}
		}
		slices.SortFunc(all[i].needs, func(a, b *object) int { return strings.Compare(a.name, b.name) })
	}
	var ordered []*object
	for _, o := range all {
		ordered = o.order(ordered)
	}
	for _, o := range slices.Backward(ordered) {
		for _, needed := range o.needs {
			for place := range o.tables {
				needed.tables[place] = true
			}
		}
	}
	s := &source.Schema{Dialect: source.PostgreSQL, Needs: true}
	for _, o := range ordered {
		switch {
		case o.lacks != "":
			s.Lacks = append(s.Lacks, "the "+o.name+", "+o.lacks)
		case o.sql != "":
			s.Statements = append(s.Statements, o.statements(tables)...)
		}
	}
	return s, nil
}

// order adds an object to others, after all that it needs.
func (o *object) order(ordered []*object) []*object {
	if o.begun {
		return ordered
	}
	o.begun = true
	switch kind, _, _ := strings.Cut(o.name, " "); {
	case o.sql != "", o.comes, o.later:
	case kind == "table":
		o.lacks = "which is not one of the tables"
	case kind == "sequence":
		o.lacks = "which belongs to a table that is not one of them"
	default:
		o.lacks = "which cannot be made by a statement"
	}
	for _, needed := range o.needs {
		ordered = needed.order(ordered)
		switch {
		case o.lacks != "":
		case !needed.ordered: // it has begun before
			o.lacks = "which needs the " + needed.name + ", which needs it"
		case needed.later && o.comes:
			o.later = true
		case needed.later, needed.lacks != "":
			o.lacks = "which needs the " + needed.name
		}
	}
	o.ordered = true
	return append(ordered, o)
}

// statements returns the statements that make an object that tables need.
func (o *object) statements(tables []string) []source.Statement {
	var needing []string
	if len(o.tables) < len(tables) {
		for place, name := range tables {
			if o.tables[place] {
				needing = append(needing, name)
			}
		}
	}
	made := []source.Statement{{SQL: o.sql, Object: o.name, For: needing}}
	if o.comment != "" && o.text != "" {
		made = append(made, source.Statement{
			SQL: "COMMENT ON " + o.comment + " IS " + sqltext.Literal(o.text), Object: o.name, For: needing,
		})
	}
	return made
}

// allowed matches what the statements of a schema begin with.
var allowed = lazyregexp.New(`^(?:CREATE (?:SCHEMA|EXTENSION|TYPE|DOMAIN|COLLATION|(?:UNLOGGED )?SEQUENCE|FUNCTION) |` +
	`COMMENT ON (?:SCHEMA|TYPE|DOMAIN|COLLATION|SEQUENCE|FUNCTION) |` +
	`SELECT pg_catalog\.setval\('(?:[^']|'')*', -?[0-9]+, (?:true|false)\)$)`)

// Allowed reports whether a statement begins as one of a schema.
func Allowed(sql string) bool { return allowed.MatchString(sql) }
