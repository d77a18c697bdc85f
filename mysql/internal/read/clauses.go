package read

import (
	"slices"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/mysql/internal/catalog"
	"culvert/source"
)

var (
	namedKey   = lazyregexp.New("(?s)^(UNIQUE |FULLTEXT |SPATIAL |VECTOR )?KEY (`(?:[^`]|``)*`) (.*)$")
	constraint = lazyregexp.New("(?s)^CONSTRAINT (`(?:[^`]|``)*`) ((FOREIGN KEY|CHECK) .*)$")
)

// addClauses adds the constraints and indexes that the statement Create has, and what else it has of the columns and
// of the table.
func addClauses(d *source.Definition) (options string) {
	clauses, options := clausesOf(d.Create)
	for _, clause := range clauses {
		if keys, ok := strings.CutPrefix(clause, "PRIMARY KEY "); ok {
			d.Constraints = append(d.Constraints, source.Constraint{
				Kind: source.PrimaryKey, Columns: columnList(keys), Definition: clause,
			})
		} else if key := namedKey.FindStringSubmatch(clause); key != nil {
			addKey(d, key[1], key[2], key[3], clause)
		} else if named := constraint.FindStringSubmatch(clause); named != nil {
			c := source.Constraint{Kind: source.Check, Definition: named[2]}
			c.Name, _, _ = catalog.Identifier(named[1])
			if keys, ok := strings.CutPrefix(c.Definition, "FOREIGN KEY "); ok {
				c.Kind, c.Columns = source.ForeignKey, columnList(keys)
			}
			d.Constraints = append(d.Constraints, c)
		} else if !addToColumn(d.Columns, clause) {
			d.Others = append(d.Others, clause)
		}
	}
	if options == "" {
		d.Others = append(d.Others, "what else its statement has")
	}
	d.Others = append(d.Others, tableOptions(options)...)
	return options
}

// addKey adds a key with a name, of which what follows the name is rest.
func addKey(d *source.Definition, kind, quoted, rest, clause string) {
	name, _, _ := catalog.Identifier(quoted)
	switch kind {
	case "UNIQUE ":
		d.Constraints = append(d.Constraints, source.Constraint{
			Name: name, Kind: source.Unique, Columns: columnList(rest), Definition: clause,
		})
	case "":
		d.Indexes = append(d.Indexes, source.Index{Name: name, Columns: columnList(rest), Definition: clause})
	default:
		d.Indexes = append(d.Indexes, source.Index{Name: name, Definition: clause})
	}
}

// addToColumn adds what else the clause of a column has to that column, or returns false if it is of none.
func addToColumn(columns []source.ColumnDefinition, clause string) bool {
	if !strings.HasPrefix(clause, "`") {
		return false
	}
	name, rest, _ := catalog.Identifier(clause)
	i := slices.IndexFunc(columns, func(c source.ColumnDefinition) bool { return c.Name == name })
	if i < 0 {
		return false
	}
	options, found := strings.CutPrefix(rest, " "+columns[i].Type)
	if !found {
		columns[i].Others = []string{strings.TrimSpace(rest)}
		return true
	}
	columns[i].Others = columnOptions(options, columns[i].Generated != "")
	return true
}

// columnOptions returns those clauses behind the type of a column that are in no other field of its definition.
func columnOptions(text string, isGenerated bool) (others []string) {
	words := wordsOf(text)
	unknown := false // the last clause is not a known one
	for len(words) > 0 {
		n, known := 1, true // the words of the clause, and whether a field has it
		switch words[0] {
		case "NULL", "AUTO_INCREMENT":
		case "NOT", "COLLATE", "DEFAULT", "COMMENT": // NULL, or a value
			n = 2
		case "CHARACTER": // SET and a name
			n = 3
		case "GENERATED": // ALWAYS AS, an expression, and how it is kept
			n, known = 5, isGenerated && len(words) >= 5 && strings.HasPrefix(words[3], "(")
		case "CHECK":
			n, known = 2, false
		case "ON": // UPDATE and a value
			n, known = 3, false
		default:
			if unknown {
				others[len(others)-1] += " " + words[0]
			} else {
				others = append(others, words[0])
			}
			unknown = true
			words = words[1:]
			continue
		}
		n = min(n, len(words))
		if !known {
			others = append(others, strings.Join(words[:n], " "))
		}
		words, unknown = words[n:], false
	}
	return others
}

// inField matches the options that are in fields of a definition.
var inField = lazyregexp.New("^(ENGINE=InnoDB$|AUTO_INCREMENT=|CHARSET=|COLLATE=|COMMENT=)")

// tableOptions returns those options behind the columns of a table that are in no other field of its definition.
// Partitions are named without their list.
func tableOptions(text string) (others []string) {
	var clause []string
	text, partitions, _ := strings.Cut(strings.TrimPrefix(text, ")"), "\n")
	for _, word := range wordsOf(text) {
		if inField.MatchString(word) {
			if len(clause) > 0 && !slices.Equal(clause, []string{"DEFAULT"}) {
				others = append(others, strings.Join(clause, " "))
			}
			clause = nil
			continue
		}
		if strings.HasPrefix(word, "CONNECTION=") {
			word = "CONNECTION=" // which may have a password
		}
		if clause = append(clause, word); strings.Contains(word, "=") {
			others = append(others, strings.Join(clause, " "))
			clause = nil
		}
	}
	if len(clause) > 0 {
		others = append(others, strings.Join(clause, " "))
	}
	partitions, _, _ = strings.Cut(strings.TrimLeft(partitions, " \n"), "\n")
	if words := wordsOf(partitions); len(words) > 0 {
		others = append(others, strings.Join(words, " "))
	}
	return others
}

// wordsOf cuts a text at its spaces, except those in quotes and in parentheses. The marks of comments that the server
// prints for other versions are left out, and what is in them is not.
func wordsOf(text string) (words []string) {
	begin, depth, quoted := 0, 0, byte(0)
	add := func(end int) {
		if word := strings.TrimSuffix(text[begin:end], "*/"); word != "" && !strings.HasPrefix(word, "/*") {
			words = append(words, word)
		}
		begin = end + 1
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted != 0 && c == '\\' && quoted != '`':
			i++
		case quoted != 0:
			if c == quoted {
				quoted = 0 // a doubled one begins another quoted text at once
			}
		case c == '\'' || c == '"' || c == '`':
			quoted = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		case (c == ' ' || c == '\n') && depth <= 0:
			add(i)
		}
	}
	add(len(text))
	return words
}

// clausesOf cuts a CREATE TABLE, as the server prints it, into what is between the parentheses, which has a line for
// each column, key and constraint, and what follows.
func clausesOf(create string) (clauses []string, options string) {
	begin, quoted := 0, byte(0)
	for i := 0; i < len(create); i++ {
		c := create[i]
		switch {
		case quoted != 0 && c == '\\' && quoted != '`':
			i++
		case quoted == c:
			quoted = 0 // a doubled one begins another quoted text at once
		case quoted == 0 && (c == '\'' || c == '"' || c == '`'):
			quoted = c
		case quoted == 0 && c == '\n':
			if begin > 0 {
				clauses = append(clauses, strings.TrimSuffix(strings.TrimLeft(create[begin:i], " "), ","))
			}
			begin = i + 1
			if strings.HasPrefix(create[begin:], ")") {
				return clauses, create[begin:]
			}
		}
	}
	return nil, "" // in a form that no server is known to print
}

// columnList returns the columns of a key that begins with a list in parentheses, or none if the key has expressions or
// beginnings of columns.
func columnList(key string) (columns []string) {
	rest, ok := strings.CutPrefix(key, "(")
	for ok {
		var name string
		if name, rest, ok = catalog.Identifier(strings.TrimPrefix(rest, " ")); !ok {
			return nil
		}
		columns = append(columns, name)
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, " ASC"), " DESC")
		if strings.HasPrefix(rest, ")") {
			return columns
		}
		rest, ok = strings.CutPrefix(rest, ",")
	}
	return nil
}
