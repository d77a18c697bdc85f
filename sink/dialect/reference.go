package dialect

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"culvert/source"
)

// reference is a foreign key.
type reference struct {
	columns            []string
	schema, table      string   // the schema is "" if it is not said
	parents            []string // none for the primary key
	onUpdate, onDelete string   // "" is NO ACTION
	deferrable         string   // what it says of that, or ""
}

// actions are what may become of rows when the row changes that they refer to.
var actions = [][]string{{"no", "action"}, {"restrict"}, {"cascade"}, {"set", "null"}, {"set", "default"}}

// referenceOf understands the definition of a foreign key as a server prints it. It returns false for one that means
// more, such as MATCH FULL, or less, such as NOT VALID.
func referenceOf(definition string) (r reference, ok bool) {
	tokens, ok := scan(definition)
	in := &reader{tokens}
	if !ok || !in.takes("foreign", "key") {
		return r, false
	}
	if r.columns, ok = in.identifiers(); !ok || !in.takes("references") {
		return r, false
	}
	if r.table, ok = in.identifier(); ok && in.takes(".") {
		r.schema = r.table
		r.table, ok = in.identifier()
	}
	if !ok {
		return r, false
	}
	if in.peek() == (token{signToken, "("}) {
		if r.parents, ok = in.identifiers(); !ok || len(r.parents) != len(r.columns) {
			return r, false
		}
	}
	for in.peek().kind != noToken {
		switch {
		case in.takes("on", "update"):
			r.onUpdate, ok = action(in)
		case in.takes("on", "delete"):
			r.onDelete, ok = action(in)
		case in.takes("deferrable"):
			r.deferrable = "DEFERRABLE"
			if in.takes("initially", "deferred") {
				r.deferrable += " INITIALLY DEFERRED"
			}
		default:
			return r, false
		}
		if !ok {
			return r, false
		}
	}
	return r, true
}

// action reads what becomes of rows.
func action(in *reader) (string, bool) {
	for i, words := range actions {
		if in.takes(words...) {
			if i == 0 {
				return "", true
			}
			return strings.ToUpper(strings.Join(words, " ")), true
		}
	}
	return "", false
}

// foreignKey translates a foreign key, or leaves it out.
func (t *translation) foreignKey(c source.Constraint, named string) {
	r, ok := referenceOf(c.Definition)
	isMore := r.onUpdate == "SET DEFAULT" || r.onDelete == "SET DEFAULT" || r.parents == nil
	isElsewhere := r.schema != "" && r.schema != t.from.Schema
	if !ok || isElsewhere || !t.has(r.columns) || t.to.Family() == source.MySQL && isMore {
		t.leave("%s", named)
		return
	}
	made := source.Constraint{Kind: c.Kind, Columns: r.columns, Name: t.keyName(c, r)}
	table := quote(t.to, r.table)
	if t.to == source.PostgreSQL && t.result.Schema != "" {
		table = quote(t.to, t.result.Schema) + "." + table
	}
	made.Definition = "FOREIGN KEY (" + quoted(t.to, r.columns) + ") REFERENCES " + table
	if r.parents != nil {
		made.Definition += " (" + quoted(t.to, r.parents) + ")"
	}
	if r.onDelete != "" {
		made.Definition += " ON DELETE " + r.onDelete
	}
	if r.onUpdate != "" {
		made.Definition += " ON UPDATE " + r.onUpdate
	}
	switch {
	case r.deferrable == "":
	case t.to.Family() == source.MySQL:
		t.leave("%s of %s", r.deferrable, named)
	default:
		made.Definition += " " + r.deferrable
	}
	t.result.Constraints = append(t.result.Constraints, made)
}

// nameOr returns the name of a constraint, or another one if the system cannot have it or has it already. In MySQL, no
// two tables of a database can have it.
func (t *translation) nameOr(name, other string) string {
	if name == "" || t.to.Family() == source.MySQL || unnameable(t.to, name) != "" || t.isTaken(name) {
		return other
	}
	return name
}

func (t *translation) isTaken(name string) bool {
	return slices.ContainsFunc(t.result.Constraints, func(other source.Constraint) bool {
		return sameName(t.to, other.Name, name)
	})
}

// keyName returns the name of a foreign key: its own, or else one as PostgreSQL chooses it, since what is to be added
// later is looked for by its name.
func (t *translation) keyName(c source.Constraint, r reference) string {
	if name := t.nameOr(c.Name, ""); name != "" {
		return name
	}
	for i := 1; ; i++ {
		end := "_fkey"
		if i > 1 {
			end += strconv.Itoa(i)
		}
		stem := t.result.Name + "_" + strings.Join(r.columns, "_")
		for unnameable(t.to, stem+end) != "" && stem != "" {
			_, size := utf8.DecodeLastRuneInString(stem)
			stem = stem[:len(stem)-size]
		}
		if !t.isTaken(stem + end) {
			return stem + end
		}
	}
}
