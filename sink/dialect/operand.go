package dialect

import (
	"slices"
	"strings"

	"culvert/source"
)

// operand is a value that a condition compares.
type operand struct {
	sql     string
	kind    operandKind
	numbers numbers
	literal bool
}

// numbers say which numbers an operand has.
type numbers uint8

const (
	wholeNumbers numbers = iota + 1
	decimalNumbers
	binaryNumbers
)

// numbersOf returns the numbers of a type, or 0 for one that rounds others.
func numbersOf(name string) numbers {
	switch {
	case slices.Contains(wholes, name) || name == "mediumint":
		return wholeNumbers
	case name == "numeric" || name == "decimal":
		return decimalNumbers
	case strings.HasPrefix(name, "double"):
		return binaryNumbers
	}
	return 0
}

func literalOperand(number string) operand {
	o := operand{number, numberOperand, decimalNumbers, true}
	if digits.MatchString(number) {
		o.numbers = wholeNumbers
	}
	return o
}

// survives reports whether a cast leaves each number of a column as it is.
func (o operand) survives(to numbers) bool {
	return to != 0 && (o.literal || o.numbers == to || o.numbers == wholeNumbers && to == decimalNumbers)
}

type operandKind uint8

const (
	unknownOperand operandKind = iota // only IS NULL can be said of it
	numberOperand
	textOperand
	collatedOperand // a text that is equal to others in one system only
)

func (o operand) isNumber() bool { return o.kind == numberOperand }
func (o operand) isText() bool   { return o.kind == textOperand }

// operand reads a value with the casts behind it.
func (c *checking) operand() (o operand, err error) {
	if c.depth++; c.depth > deepest {
		return o, errNotPortable
	}
	defer func() { c.depth-- }()
	isMySQL := c.t.from.Dialect.Family() == source.MySQL
	minus := c.takes("-")
	switch next := c.next(); {
	case next.kind == numberToken:
		o = literalOperand(next.value)
	case next.kind == textToken && isMySQL && strings.ContainsAny(next.value, "?\uFFFD"):
		err = errNotPortable // the server prints such a character for each that UTF-8 does not have
	case next.kind == textToken:
		o = operand{sql: text(next.value), kind: textOperand}
	case next.kind == signToken && next.value == "(":
		if o, err = c.operand(); err == nil && !c.takes(")") {
			err = errNotPortable
		}
	case next.kind == wordToken && c.takes("("):
		o, err = c.length(next.value)
	case next.kind == wordToken || next.kind == nameToken:
		o, err = c.column(next.value)
	default:
		err = errNotPortable
	}
	if err == nil {
		o, err = c.casts(o)
	}
	if minus && err == nil {
		if !numeral.MatchString(o.sql) {
			return o, errNotPortable
		}
		o.sql = "-" + o.sql
	}
	return o, err
}

// length reads the argument of a function that counts the characters of a text.
func (c *checking) length(function string) (operand, error) {
	counts := map[source.Dialect][]string{
		source.PostgreSQL: {"length", "char_length", "character_length"},
		source.MySQL:      {"char_length", "character_length"},
		source.SQLite:     {"length"},
	}
	of, err := c.operand()
	isText := of.isText() || of.kind == collatedOperand
	counted := slices.Contains(counts[c.t.from.Dialect.Family()], function)
	if err != nil || !isText || !counted || !c.takes(")") {
		return operand{}, errNotPortable
	}
	if c.t.to == source.SQLite {
		return operand{sql: "length(" + of.sql + ")", kind: numberOperand, numbers: wholeNumbers}, nil
	}
	return operand{sql: "char_length(" + of.sql + ")", kind: numberOperand, numbers: wholeNumbers}, nil
}

// column returns a column. Texts that a collation compares are not equal in all systems, and a number that SQLite keeps
// as text compares as text.
func (c *checking) column(name string) (operand, error) {
	i := slices.IndexFunc(c.t.from.Columns, func(of source.ColumnDefinition) bool {
		return of.Name == name || c.t.from.Dialect == source.SQLite && sameName(source.SQLite, of.Name, name)
	})
	if i < 0 || c.t.find(c.t.from.Columns[i].Name) == nil {
		return operand{}, errNotPortable
	}
	from := c.t.from.Columns[i]
	name = from.Name
	made := c.t.find(name)
	listed, _ := key(c.t.from.Dialect, from.Type)
	base, _, _ := strings.Cut(strings.TrimSuffix(listed, " unsigned"), "(")
	o := operand{sql: quote(c.t.to, name)}
	c.columns = append(c.columns, name)
	switch {
	case slices.Contains(numberTypes, base):
		isRounded := base == "real" && c.t.from.Dialect == source.PostgreSQL // others have more digits of it
		isText := made.Type == "TEXT" || made.Type == untyped                // some of its values
		if !isText && !isRounded {
			o.kind, o.numbers = numberOperand, numbersOf(base)
		}
	case slices.Contains(textTypes, base):
		o.kind = textOperand
		isPadded := c.t.to == source.MySQL // whose collation ignores spaces at the end
		if isPadded || from.Collation != "" || slices.ContainsFunc(c.t.from.Others, isCollation) {
			o.kind = collatedOperand
		}
	}
	return o, nil
}

func isCollation(clause string) bool { return strings.HasPrefix(clause, collationOfTable) }

// numberTypes and textTypes are those whose values compare alike in all systems. That of character ignores spaces at
// the end of a text.
var (
	numberTypes = []string{
		"tinyint", "smallint", "mediumint", "int", "integer", "bigint", "numeric", "decimal", "real", "double",
		"double precision",
	}
	textTypes = []string{"text", "character varying", "varchar", "tinytext", "mediumtext", "longtext"}
)

// casts reads the casts behind a value, as PostgreSQL prints them, as in '-1'::integer. They must not change it.
func (c *checking) casts(o operand) (operand, error) {
	for c.takes("::") {
		to, known := c.next().value, unknownOperand
		switch {
		case to == "character" && c.takes("varying"), to == "double" && c.takes("precision"):
			to += map[string]string{"character": " varying", "double": " precision"}[to]
		}
		switch {
		case slices.Contains(numberTypes, to):
			known = numberOperand
		case slices.Contains(textTypes, to):
			known = textOperand
		}
		if c.peek() == (token{signToken, "("}) || known == unknownOperand {
			return o, errNotPortable
		}
		if value := strings.Trim(o.sql, "'"); o.isText() && known == numberOperand && numeral.MatchString(value) {
			o = literalOperand(value)
		}
		isText := known == textOperand && (o.isText() || o.kind == collatedOperand)
		isNumber := known == numberOperand && o.isNumber() && o.survives(numbersOf(to))
		if !isText && !isNumber {
			return o, errNotPortable
		}
		o.numbers = numbersOf(to)
		c.takes("[", "]")
	}
	return o, nil
}
