package dialect

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"culvert/internal/typename"
	"culvert/sink"
	"culvert/source"
)

// reference is a foreign key.
type reference struct {
	source.Reference
	onUpdate, onDelete string // "" is NO ACTION
	deferrable         string // what it says of that, or ""
}

// actions are what may become of rows when the row changes that they refer to.
var actions = [][]string{{"no", "action"}, {"restrict"}, {"cascade"}, {"set", "null"}, {"set", "default"}}

// referenceOf understands a foreign key. It returns false for one that means more, such as MATCH FULL, or less, such as
// NOT VALID.
func referenceOf(c source.Constraint) (r reference, ok bool) {
	if r.Reference, ok = c.Reference(); !ok {
		return r, false
	}
	tokens, ok := scan(r.Rest)
	in := &reader{tokens}
	if !ok {
		return r, false
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
	r, ok := referenceOf(c)
	table, is := "", false
	if ok && t.has(r.Columns) {
		table, is = t.parent(&r)
	}
	isMore := r.onUpdate == "SET DEFAULT" || r.onDelete == "SET DEFAULT" || r.Key == nil
	if !is || t.to.Family() == source.MySQL && isMore || t.clears(r) {
		t.leave("%s", named)
		return
	}
	made := source.Constraint{Kind: c.Kind, Columns: r.Columns, Name: t.keyName(c, r)}
	made.Definition = "FOREIGN KEY (" + quoted(t.to, r.Columns) + ") REFERENCES " + table
	if r.Key != nil {
		made.Definition += " (" + quoted(t.to, r.Key) + ")"
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

// parent returns the table that a foreign key refers to, as SQL, or false if it cannot: the table is another one or is
// not made, or has no such key there, or one of other types.
func (t *translation) parent(r *reference) (string, bool) {
	schema := cmp.Or(r.Schema, t.from.Schema)
	name := r.Table
	if t.related == nil {
		if schema != t.from.Schema {
			return "", false
		}
	} else {
		of, is := t.related[sink.TableName{Schema: schema, Name: r.Table}]
		if !is || !t.fits(r, of.Definition) {
			return "", false
		}
		name = TableName(of.Definition, of.Name)
	}
	if t.to == source.PostgreSQL {
		if schema, table, is := strings.Cut(name, "."); is && name != r.Table {
			return quote(t.to, schema) + "." + quote(t.to, table), true
		}
		if t.result.Schema != "" {
			return quote(t.to, t.result.Schema) + "." + quote(t.to, name), true
		}
	}
	return quote(t.to, name), true
}

// fits reports whether the columns that a foreign key refers to are a key of their table, and have the types of its own
// columns. It puts them into the order of that key, which MySQL wants.
func (t *translation) fits(r *reference, parent *source.Definition) bool {
	if r.Key == nil {
		r.Key = parent.PrimaryKey()
	}
	if len(r.Key) != len(r.Columns) {
		return false
	}
	own, types, collations := map[string]string{}, map[string]string{}, map[string]string{}
	for i, name := range r.Key {
		own[name] = r.Columns[i]
	}
	for _, column := range parent.Columns {
		types[column.Name], _ = t.typeOf(column)
		if isNumberedUnsigned(column) {
			types[column.Name] = "bigint"
		}
		collations[column.Name] = t.collation(column, types[column.Name])
	}
	for _, key := range parent.Constraints {
		isKey := key.Kind == source.PrimaryKey || key.Kind == source.Unique
		if !isKey || len(key.Columns) != len(r.Key) {
			continue
		}
		same := func(name string) bool {
			column := t.find(own[name])
			isCompared := t.to.Family() != source.MySQL || column != nil && column.Collation == collations[name]
			return column != nil && isCompared && t.comparable(column, types[name])
		}
		if !slices.ContainsFunc(key.Columns, func(name string) bool { return !same(name) }) {
			r.Key, r.Columns = key.Columns, nil
			for _, name := range key.Columns {
				r.Columns = append(r.Columns, own[name])
			}
			return true
		}
	}
	return false
}

// isNumberedUnsigned reports whether a column is a bigint unsigned of which numbering makes a bigint.
func isNumberedUnsigned(c source.ColumnDefinition) bool {
	base, _ := typename.Cut(c.Type)
	return c.Identity != "" && base == "bigint unsigned"
}

// narrowed returns the columns that refer to such ones, and so become a bigint too: as numeric, which a bigint unsigned
// is in PostgreSQL, they could not refer to a bigint.
func (t *translation) narrowed() map[string]bool {
	narrow := map[string]bool{}
	for _, c := range t.from.Constraints {
		r, ok := referenceOf(c)
		of, is := t.related[sink.TableName{Schema: cmp.Or(r.Schema, t.from.Schema), Name: r.Table}]
		if !ok || !is {
			continue
		}
		for _, column := range of.Definition.Columns {
			if i := slices.Index(r.Key, column.Name); i >= 0 && isNumberedUnsigned(column) {
				narrow[r.Columns[i]] = true
			}
		}
	}
	return narrow
}

// comparable reports whether a column can refer to one of a type. Systems other than MySQL compare all whole numbers,
// and all texts.
func (t *translation) comparable(column *source.ColumnDefinition, parent string) bool {
	base, _, _ := strings.Cut(strings.ToLower(column.Type), "(")
	other, _, _ := strings.Cut(strings.ToLower(parent), "(")
	isText := func(name string) bool { return strings.Contains(name, "char") || strings.HasSuffix(name, "text") }
	switch {
	case base == other || isText(base) && isText(other):
		return true
	case t.to.Family() == source.MySQL:
		return false
	}
	return slices.Contains(wholes, base) && slices.Contains(wholes, other)
}

// clears reports whether a foreign key would set a column to NULL that cannot be, which MySQL refuses.
func (t *translation) clears(r reference) bool {
	isNull := r.onUpdate == "SET NULL" || r.onDelete == "SET NULL"
	return t.to.Family() == source.MySQL && isNull && slices.ContainsFunc(r.Columns, func(name string) bool {
		return t.find(name).NotNull
	})
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

// isOtherCase reports whether the name of this table has capitals, and that of another table that is made differs in
// nothing else.
func (t *translation) isOtherCase() bool {
	if strings.ToLower(t.result.Name) == t.result.Name {
		return false // as for most tables, since there may be many to look at
	}
	for _, of := range t.related {
		name := TableName(of.Definition, of.Name)
		if name != t.result.Name && sameName(t.to, name, t.result.Name) {
			return true
		}
	}
	return false
}

// keyName returns the name of a foreign key: its own, or else one as PostgreSQL chooses it, since what is to be added
// later is looked for by its name. In MySQL, where the names of all tables must differ, a period ends that of the
// table, so that user.role_id is not user_role.id. A name that is cut has a hash of the whole, and so has that of a
// table whose name differs from another one only in capitals.
func (t *translation) keyName(c source.Constraint, r reference) string {
	if name := t.nameOr(c.Name, ""); name != "" {
		return name
	}
	between, cut := "_", ""
	if t.to.Family() == source.MySQL {
		between = "."
	}
	for i := 1; ; i++ {
		end := "_fkey"
		if i > 1 {
			end += strconv.Itoa(i)
		}
		stem := t.result.Name + between + strings.Join(r.Columns, "_")
		if t.to.Family() == source.MySQL && (t.isOtherCase() || unnameable(t.to, stem+end) != "") {
			cut = fmt.Sprintf("_%08x", crc32.ChecksumIEEE([]byte(stem)))
		}
		end = cut + end
		for unnameable(t.to, stem+end) != "" && stem != "" {
			_, size := utf8.DecodeLastRuneInString(stem)
			stem = stem[:len(stem)-size]
		}
		if !t.isTaken(stem + end) {
			return stem + end
		}
	}
}
