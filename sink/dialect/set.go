package dialect

import (
	"slices"
	"strings"

	"culvert/source"
)

// setSQL says that a text is some of the values of a SET, which are texts as SQL. SQLite and MySQL have no lists, so
// each value is taken out of the text with a comma before and after it, and nothing may remain. Commas are doubled, so
// that values that follow each other have one each, also twice the same. The empty value, which is two commas, is taken
// last: between two others there are two commas as well.
func setSQL(to source.Dialect, name string, values []string) string {
	if to.Family() == source.PostgreSQL {
		return "string_to_array(" + name + ", ',') <@ ARRAY[" + strings.Join(values, ", ") + "]::text[]"
	}
	between := func(of string) string { return "',' || " + of + " || ','" }
	if to.Family() == source.MySQL {
		between = func(of string) string { return "concat(',', " + of + ", ',')" }
	}
	whole := between("replace(" + name + ", ',', ',,')")
	rest := whole
	isEmpty := func(value string) bool { return value == text("") }
	if slices.ContainsFunc(values, isEmpty) {
		values = append(slices.DeleteFunc(slices.Clone(values), isEmpty), text(""))
	}
	for _, value := range values {
		rest = "replace(" + rest + ", " + between(value) + ", '')"
	}
	return whole + " = ',,' OR " + rest + " = ''" // not the name: MySQL takes ' ' for equal to ''
}

// set reads such a condition to the end of its check, as PostgreSQL prints it, or as it was made in SQLite and MariaDB.
func (c *checking) set() (sql string, ok bool) {
	name, values, ok := c.setOfPostgres()
	if c.t.from.Dialect.Family() != source.PostgreSQL {
		name, values, ok = c.setOfOthers()
	}
	if !ok || !c.takes(")") || len(values) == 0 {
		return "", false
	}
	return setSQL(c.t.to, name.sql, values), true
}

// setOfPostgres reads a condition with lists.
func (c *checking) setOfPostgres() (name operand, values []string, ok bool) {
	parentheses := c.takes("(")
	if !c.takes("string_to_array", "(") {
		return name, nil, false
	}
	name, err := c.operand()
	if err != nil || !name.isText() || !c.takes(",") || !c.is(",") || !c.takes("::", "text", ")", "<@", "array", "[") {
		return name, nil, false
	}
	for {
		value, ok := c.value()
		if !ok {
			return name, nil, false
		}
		values = append(values, value)
		c.takes("::", "text")
		if c.takes("]") {
			break
		}
		if !c.takes(",") {
			return name, nil, false
		}
	}
	return name, values, !parentheses || c.takes(")")
}

// setOfOthers reads a condition that takes the values out of the text.
func (c *checking) setOfOthers() (name operand, values []string, ok bool) {
	name, ok = c.between(true)
	if !ok || !name.isText() || !c.takes("=") || !c.is(",,") || !c.takes("or") {
		return name, nil, false
	}
	times := 0
	for c.takes("replace", "(") {
		times++
	}
	if of, ok := c.between(true); !ok || of.sql != name.sql {
		return name, nil, false
	}
	for range times {
		if !c.takes(",") {
			return name, nil, false
		}
		value, ok := c.between(false)
		if !ok || !value.literal || !c.takes(",") || !c.is("") || !c.takes(")") {
			return name, nil, false
		}
		values = append(values, value.sql)
	}
	return name, values, c.takes("=") && c.is("")
}

// between reads a column whose commas are doubled, or a value, with a comma before and after it.
func (c *checking) between(isColumn bool) (o operand, ok bool) {
	isMySQL := c.t.from.Dialect.Family() == source.MySQL
	if isMySQL && !c.takes("concat", "(") || !c.is(",") || !c.takes(map[bool]string{true: ",", false: "||"}[isMySQL]) {
		return o, false
	}
	if isColumn {
		if !c.takes("replace", "(") {
			return o, false
		}
		var err error
		o, err = c.operand()
		if err != nil || !c.takes(",") || !c.is(",") || !c.takes(",") || !c.is(",,") || !c.takes(")") {
			return o, false
		}
	} else if value, ok := c.value(); ok {
		o = operand{sql: value, kind: textOperand, literal: true}
	} else {
		return o, false
	}
	if !c.takes(map[bool]string{true: ",", false: "||"}[isMySQL]) || !c.is(",") {
		return o, false
	}
	return o, !isMySQL || c.takes(")")
}

// value reads a value of a SET, as a text without a comma.
func (c *checking) value() (sql string, ok bool) {
	next := c.next()
	wrong := ","
	if c.t.from.Dialect.Family() == source.MySQL {
		wrong = ",?\uFFFD" // as in an operand
	}
	return text(next.value), next.kind == textToken && !strings.ContainsAny(next.value, wrong)
}

// is reads a text.
func (c *checking) is(value string) bool { return c.next() == token{textToken, value} }
