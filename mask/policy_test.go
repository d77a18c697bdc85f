package mask_test

import (
	"strings"
	"testing"

	"culvert/mask"
	"culvert/source"
)

// table is a table with columns of a name, a type and a logical type each.
func table(t *testing.T, name string, constraints []source.Constraint, columns ...[3]string) mask.Table {
	t.Helper()
	d := &source.Definition{Dialect: source.PostgreSQL, Schema: "public", Name: name, Constraints: constraints}
	one := mask.Table{Name: name, Definition: d}
	for _, text := range columns {
		c := column(t, text[1], text[2])
		c.Name = text[0]
		one.Columns = append(one.Columns, c)
		d.Columns = append(d.Columns, source.ColumnDefinition{Name: c.Name, Type: c.Type, NotNull: c.Name == "id"})
	}
	return one
}

func policy(t *testing.T, rules map[string]string) *mask.Policy {
	t.Helper()
	p := &mask.Policy{Key: testKey(t, keyText), Tables: map[string]mask.Rules{}}
	for name, text := range rules {
		tableName, columnName, _ := strings.Cut(name, ".")
		if p.Tables[tableName] == nil {
			p.Tables[tableName] = mask.Rules{}
		}
		p.Tables[tableName][columnName] = rule(t, text)
	}
	return p
}

func TestCheck(t *testing.T) {
	customers := table(t, "customers", []source.Constraint{
		{Kind: source.PrimaryKey, Columns: []string{"id"}},
		{Kind: source.Unique, Columns: []string{"email"}},
		{Kind: source.Unique, Columns: []string{"code"}},
		{Kind: source.Check, Name: "adult", Definition: "CHECK ((born < '2000-01-01'::date))"},
	}, [3]string{"id", "integer", "int32"}, [3]string{"email", "text", "string"}, [3]string{"born", "date", "date"},
		[3]string{"code", "varchar(8)", "string(8)"}, [3]string{"tiny", "tinyint", "int16"},
		[3]string{"price", "numeric(10,2)", "decimal(10,2)"})
	orders := table(t, "orders", []source.Constraint{
		{
			Kind: source.ForeignKey, Columns: []string{"customer"},
			Definition: `FOREIGN KEY (customer) REFERENCES "public".customers(id) ON DELETE CASCADE`,
		},
		{
			Kind: source.ForeignKey, Columns: []string{"mail"},
			Definition: "FOREIGN KEY (`mail`) REFERENCES `customers` (`email`)",
		},
		{
			Kind: source.ForeignKey, Columns: []string{"size"},
			Definition: "FOREIGN KEY (size) REFERENCES customers(tiny)",
		},
		{
			Kind: source.ForeignKey, Columns: []string{"paid"},
			Definition: "FOREIGN KEY (paid) REFERENCES customers(price)",
		},
	}, [3]string{"customer", "bigint", "int64"}, [3]string{"mail", "text", "string"},
		[3]string{"size", "integer", "int32"}, [3]string{"paid", "numeric(10,3)", "decimal(10,3)"})
	generated := table(t, "people", nil, [3]string{"name", "text", "string"}, [3]string{"upper", "text", "string"})
	generated.Definition.Columns[1].Generated, generated.Definition.Columns[1].Expression = source.Stored, "upper(name)"
	for _, test := range []struct {
		rules        map[string]string
		notice, want string
	}{
		{map[string]string{}, "", ""},
		{map[string]string{"customers.email": "email", "orders.mail": "email"}, "", ""},
		{map[string]string{"customers.id": "hash", "orders.customer": "hash"}, "", ""},
		{
			map[string]string{"customers.id": "hash"},
			"",
			`table "orders": column "customer" has no rule, but it refers to`,
		},
		{map[string]string{"orders.customer": "hash"}, "", `which has no rule: both need the same`},
		{map[string]string{"customers.email": "email", "orders.mail": "hash"}, "", `has the rule hash, but it refers`},
		{map[string]string{"customers.tiny": "hash", "orders.size": "hash"}, "", "other values of this type"},
		{map[string]string{"customers.price": "hash", "orders.paid": "hash"}, "", "other values of this type"},
		{
			map[string]string{"customers.email": "name", "orders.mail": "name"},
			"",
			`column "email" is unique, and the rule name`,
		},
		{map[string]string{"customers.code": "hash"}, "", "has 8 characters, and the rule hash needs 16"},
		{map[string]string{"customers.code": "text"}, "", ""},
		{map[string]string{"customers.id": "null"}, "", "must not be NULL"},
		{map[string]string{"customers.born": "hash"}, `the constraint "adult" is about the column "born"`, ""},
		{map[string]string{"customers.born": "email"}, "", "cannot mask the type date"},
		{map[string]string{"customers.born": "drop"}, "", "is to be dropped, but was read"},
		{map[string]string{"people.name": "name"}, "", `"upper" is computed from the column "name"`},
		{map[string]string{"people.name": "name", "people.upper": "text"}, "", ""},
	} {
		notices, err := policy(t, test.rules).Check([]mask.Table{customers, orders, generated})
		text := ""
		if err != nil {
			text = err.Error()
		}
		if (test.want == "") != (err == nil) || !strings.Contains(text, test.want) {
			t.Errorf("%v: the error is %v, want %q", test.rules, err, test.want)
		}
		if all := strings.Join(notices, "\n"); (test.notice == "") != (all == "") || !strings.Contains(all,
			test.notice) {
			t.Errorf("%v: the notices are %q, want %q", test.rules, all, test.notice)
		}
	}
}

// TestComputedFromDropped refuses columns that have the values of one that is left out.
func TestComputedFromDropped(t *testing.T) {
	people := table(t, "people", nil, [3]string{"Name", "text", "string"}, [3]string{"upper", "text", "string"})
	people.Definition.Columns[1].Generated, people.Definition.Columns[1].Expression = source.Virtual, "upper(NAME)"
	people.Columns = people.Columns[1:]
	_, err := policy(t, map[string]string{"people.Name": "drop"}).Check([]mask.Table{people})
	if err == nil || !strings.Contains(err.Error(), `"upper" is computed from the column "Name"`) {
		t.Errorf("the error is %v", err)
	}
	people.Definition.Columns = append(people.Definition.Columns, source.ColumnDefinition{
		Name: "twice", Type: "text", Generated: source.Virtual, Expression: "concat(`upper`, `upper`)",
	})
	people.Columns[0].Name = "twice" // through a column that is not read
	_, err = policy(t, map[string]string{"people.Name": "drop"}).Check([]mask.Table{people})
	if err == nil || !strings.Contains(err.Error(), `"twice" is computed from the column "upper"`) {
		t.Errorf("through another column, the error is %v", err)
	}
}

// TestPositions names the columns whose numbers begin again: those with a sequence of their own, and those that draw
// from another one.
func TestPositions(t *testing.T) {
	people := table(t, "people", nil, [3]string{"id", "bigint", "int64"}, [3]string{"n", "bigint", "int64"},
		[3]string{"unused", "bigint", "int64"}, [3]string{"name", "text", "string"})
	last := int64(7)
	d := people.Definition
	d.Sequences = []source.Sequence{{Column: "id", Last: &last}, {Column: "unused"}}
	d.Columns[0].Default, d.Columns[1].Default = "nextval('people_id_seq'::regclass)", "NEXTVAL('numbers'::regclass)"
	d.Columns[2].Default, d.Columns[3].Default = "nextval('people_unused_seq'::regclass)", "'x'"
	p := policy(t, map[string]string{
		"people.id": "hash", "people.n": "drop", "people.unused": "hash", "people.name": "hash",
	})
	names := p.Positions([]mask.Table{people})
	if len(names) != 2 || !strings.Contains(names[0], `"id"`) || !strings.Contains(names[1], `"n"`) {
		t.Errorf("named are %q", names)
	}
}
