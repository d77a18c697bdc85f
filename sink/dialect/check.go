package dialect

import (
	"errors"
	"slices"
	"strings"

	"culvert/sink"
	"culvert/source"
)

// errNotPortable ends the translation of a check that might mean something else in another system.
var errNotPortable = errors.New("dialect: the check is not portable")

// check adds a check, "CHECK (…)", under a name, which may be "". It returns false, and adds nothing, if other systems
// might understand it in another way: only comparisons of numbers, and whether texts are equal, are the same
// everywhere.
func (t *translation) check(name, definition string) bool {
	tokens, ok := scan(definition)
	return ok && t.checkOf(name, tokens, true)
}

// checkOf is check for tokens. If they are the whole, none may follow.
func (t *translation) checkOf(name string, tokens []token, isWhole bool) bool {
	c := &checking{t: t, reader: reader{tokens}}
	sql, ok := c.clause()
	if !ok || isWhole && c.peek().kind != noToken {
		return false
	}
	t.addCheck(t.nameOr(name, ""), sql, c.columns...)
	return true
}

// addCheck adds a check that has columns.
func (t *translation) addCheck(name, sql string, columns ...string) {
	t.result.Constraints = append(t.result.Constraints, source.Constraint{
		Name: name, Kind: source.Check, Definition: sql,
	})
	if t.checked == nil {
		t.checked = map[string][]string{}
	}
	t.checked[sql] = columns
}

// withoutChecks leaves out checks that MySQL and MariaDB refuse: of a column that they number, or that a foreign key
// changes.
func (t *translation) withoutChecks() {
	var changed []string
	for _, c := range t.result.Columns {
		if c.Identity != "" {
			changed = append(changed, c.Name)
		}
	}
	for _, c := range t.result.Constraints {
		if c.Kind == source.ForeignKey && strings.Contains(c.Definition, " ON ") {
			changed = append(changed, c.Columns...)
		}
	}
	t.result.Constraints = slices.DeleteFunc(t.result.Constraints, func(c source.Constraint) bool {
		refused := c.Kind == source.Check && slices.ContainsFunc(t.checked[c.Definition], func(name string) bool {
			return slices.Contains(changed, name)
		})
		if refused {
			t.leave("%s", c.Definition)
		}
		return refused
	})
}

// clause reads CHECK and its condition.
func (c *checking) clause() (string, bool) {
	if !c.takes("check", "(") {
		return "", false
	}
	before, columns := c.tokens, c.columns
	if sql, ok := c.set(); ok {
		return "CHECK (" + sql + ")", true
	}
	c.tokens, c.columns = before, columns
	sql, err := c.or()
	return "CHECK (" + sql + ")", err == nil && c.takes(")")
}

// checksOfStatement adds the checks that the statement of a table of SQLite has, and leaves out those that are not
// portable.
func (t *translation) checksOfStatement() {
	tokens, ok := scan(t.from.Create)
	if !ok {
		if inCreate.MatchString(t.from.Create) {
			t.leave("checks, if %q has any", t.from.Name)
		}
		return
	}
	for i := range tokens {
		if tokens[i] != (token{wordToken, "check"}) {
			continue
		}
		named := ""
		if i >= 2 && tokens[i-2] == (token{wordToken, "constraint"}) {
			named = tokens[i-1].value
		}
		if !t.checkOf(named, tokens[i:], false) {
			t.leave("%s", strings.TrimSpace("a check "+named))
		}
	}
}

// checksOf adds the checks of what a type or a clause of a column says, or leaves it out.
func (t *translation) checksOf(c source.ColumnDefinition, made string) {
	add := func(sql string) { t.addCheck("", "CHECK ("+sql+")", c.Name) }
	listed, _ := key(t.from.Dialect, c.Type)
	isMySQL, isList := t.from.Dialect.Family() == source.MySQL, listed == "enum" || listed == "set"
	switch {
	case c.As != "": // whose type says what values it has
	case len(c.Values) > 0 && t.to == source.SQLite:
		var values []string
		for _, value := range c.Values {
			values = append(values, text(value))
		}
		add(quote(t.to, c.Name) + " IN (" + strings.Join(values, ", ") + ")")
	case len(c.Values) > 0 && !strings.HasPrefix(made, "enum("):
		t.leave("the values of type %s of column %q", c.Type, c.Name)
	case isMySQL && !isList && strings.Contains(c.Type, " unsigned") && made != "TEXT":
		add(quote(t.to, c.Name) + " >= 0")
	case isMySQL && isList:
		if sql := t.valuesOf(c); sql != "" {
			add(sql)
		} else {
			t.leave("the values of %s of column %q", sink.Shorten(c.Type), c.Name)
		}
	}
	for _, clause := range c.Others {
		if !t.onUpdate(c, clause, made) && !t.check("", clause) {
			t.leave("%s of column %q", sink.Shorten(clause), c.Name)
		}
	}
}

// valuesOf writes that a column has one of the values of its ENUM, or some of its SET, or nothing if a value has what a
// text does not have in all systems.
func (t *translation) valuesOf(c source.ColumnDefinition) string {
	kind, list, _ := strings.Cut(c.Type, "(")
	tokens, ok := scan(strings.TrimSuffix(list, ")"))
	if !ok {
		return ""
	}
	in := &checking{t: t, reader: reader{tokens}}
	var values []string
	for done := false; !done; done = in.peek().kind == noToken {
		one, err := in.operand()
		if err != nil || !one.isText() || in.peek().kind != noToken && !in.takes(",") {
			return ""
		}
		values = append(values, one.sql)
	}
	name := quote(t.to, c.Name)
	if kind == "enum" {
		return name + " IN (" + strings.Join(values, ", ") + ")"
	}
	return setSQL(t.to, name, values)
}

// checking is a check that is being translated.
type checking struct {
	reader
	t     *translation
	depth int // of parentheses

	columns []string // that it has
}

// or reads conditions with OR between them, which binds less than AND.
func (c *checking) or() (string, error)  { return c.chain("or", c.and) }
func (c *checking) and() (string, error) { return c.chain("and", c.not) }

func (c *checking) chain(operator string, operand func() (string, error)) (string, error) {
	sql, err := operand()
	for err == nil && c.takes(operator) {
		var right string
		right, err = operand()
		sql = "(" + sql + " " + strings.ToUpper(operator) + " " + right + ")"
	}
	return sql, err
}

func (c *checking) not() (string, error) {
	if !c.takes("not") {
		return c.condition()
	}
	sql, err := c.condition()
	return "(NOT " + sql + ")", err
}

// deepest bounds parentheses in parentheses.
const deepest = 50

// condition reads a comparison, or a condition in parentheses. What the parentheses have, only their content says.
func (c *checking) condition() (string, error) {
	before := c.tokens
	if c.takes("(") {
		if c.depth++; c.depth > deepest {
			return "", errNotPortable
		}
		sql, err := c.or()
		c.depth--
		if err == nil && c.takes(")") && !c.comparesNext() {
			return sql, nil
		}
		c.tokens = before
	}
	left, err := c.operand()
	if err != nil {
		return "", err
	}
	return c.comparison(left)
}

// comparesNext reports whether what was read is the left side of a comparison.
func (c *checking) comparesNext() bool {
	t := c.peek()
	return t.kind == signToken && t.value != ")" && t.value != "," ||
		slices.Contains([]string{"is", "in", "between"}, t.value)
}

// comparisons are the signs that compare, as all systems have them.
var comparisons = map[string]string{"=": "=", "<>": "<>", "!=": "<>", "<": "<", ">": ">", "<=": "<=", ">=": ">="}

func (c *checking) comparison(left operand) (string, error) {
	switch {
	case c.takes("is", "null"):
		return "(" + left.sql + " IS NULL)", nil
	case c.takes("is", "not", "null"):
		return "(" + left.sql + " IS NOT NULL)", nil
	case c.takes("between"):
		low, err := c.operand()
		if err != nil || !c.takes("and") {
			return "", errNotPortable
		}
		high, err := c.operand()
		if err != nil || !left.isNumber() || !low.isNumber() || !high.isNumber() {
			return "", errNotPortable
		}
		return "(" + left.sql + " BETWEEN " + low.sql + " AND " + high.sql + ")", nil
	case c.takes("in", "("):
		return c.list(left, "IN", ")")
	case c.takes("not", "in", "("):
		return c.list(left, "NOT IN", ")")
	case c.takes("=", "any", "(", "array", "["):
		return c.array(left, "IN", false)
	case c.takes("=", "any", "(", "(", "array", "["):
		return c.array(left, "IN", true)
	case c.takes("<>", "all", "(", "array", "["):
		return c.array(left, "NOT IN", false)
	case c.takes("<>", "all", "(", "(", "array", "["):
		return c.array(left, "NOT IN", true)
	}
	operator, is := comparisons[c.next().value]
	if !is {
		return "", errNotPortable
	}
	right, err := c.operand()
	if err != nil {
		return "", err
	}
	isEquality := operator == "=" || operator == "<>"
	isPortable := left.isNumber() && right.isNumber() || isEquality && left.isText() && right.isText()
	if !isPortable {
		return "", errNotPortable
	}
	return "(" + left.sql + " " + operator + " " + right.sql + ")", nil
}

// array reads a list of PostgreSQL, after ANY or ALL, with a cast of the whole if it is in parentheses.
func (c *checking) array(left operand, operator string, inParentheses bool) (string, error) {
	sql, err := c.list(left, operator, "]")
	if err == nil && inParentheses {
		if !c.takes(")") {
			return "", errNotPortable
		}
		_, err = c.casts(operand{kind: textOperand})
	}
	if err == nil && !c.takes(")") {
		err = errNotPortable
	}
	return sql, err
}

// list reads values up to a closing sign.
func (c *checking) list(left operand, operator, closing string) (string, error) {
	var values []string
	for {
		one, err := c.operand()
		isPortable := left.isNumber() && one.isNumber() || left.isText() && one.isText()
		if err != nil || !isPortable {
			return "", errNotPortable
		}
		values = append(values, one.sql)
		switch {
		case c.takes(closing):
			return "(" + left.sql + " " + operator + " (" + strings.Join(values, ", ") + "))", nil
		case !c.takes(","):
			return "", errNotPortable
		}
	}
}
