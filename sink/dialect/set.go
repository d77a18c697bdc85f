package dialect

import (
	"strings"

	"culvert/source"
)

// setSQL says that a text is some of the values of a SET, which are texts as SQL. SQLite and MySQL have no lists, so
// each value is taken out of the text, and nothing may remain.
func setSQL(to source.Dialect, name string, values []string) string {
	if to.Family() == source.PostgreSQL {
		return "string_to_array(" + name + ", ',') <@ ARRAY[" + strings.Join(values, ", ") + "]::text[]"
	}
	between := func(of string) string { return "',' || " + of + " || ','" }
	if to.Family() == source.MySQL {
		between = func(of string) string { return "concat(',', " + of + ", ',')" }
	}
	rest := between(name)
	for _, value := range values {
		rest = "replace(" + rest + ", " + between(value) + ", ',')"
	}
	return name + " = '' OR " + rest + " = ','"
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
	name, err := c.operand()
	if err != nil || !name.isText() || !c.takes("=") || !c.is("") || !c.takes("or") {
		return name, nil, false
	}
	times := 0
	for c.takes("replace", "(") {
		times++
	}
	if of, ok := c.between(); !ok || of.sql != name.sql {
		return name, nil, false
	}
	for range times {
		if !c.takes(",") {
			return name, nil, false
		}
		value, ok := c.between()
		if !ok || !value.literal || !c.takes(",") || !c.is(",") || !c.takes(")") {
			return name, nil, false
		}
		values = append(values, value.sql)
	}
	return name, values, c.takes("=") && c.is(",")
}

// between reads a column, or a value, with a comma before and after it.
func (c *checking) between() (o operand, ok bool) {
	isMySQL := c.t.from.Dialect.Family() == source.MySQL
	if isMySQL && !c.takes("concat", "(") || !c.is(",") || !c.takes(map[bool]string{true: ",", false: "||"}[isMySQL]) {
		return o, false
	}
	if c.peek().kind == textToken {
		value, ok := c.value()
		o = operand{sql: value, kind: textOperand, literal: true}
		if !ok {
			return o, false
		}
	} else {
		var err error
		if o, err = c.operand(); err != nil {
			return o, false
		}
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
	return text(next.value), next.kind == textToken && !strings.ContainsAny(next.value, wrong) && next.value != ""
}

// is reads a text.
func (c *checking) is(value string) bool { return c.next() == token{textToken, value} }
