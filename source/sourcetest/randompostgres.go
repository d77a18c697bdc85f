package sourcetest

import (
	"fmt"
	"strings"
)

// PostgresSchema returns the clauses of PostgreSQL 15 and later. A whole database has all of them. Otherwise it has
// those that a definition of a table keeps, and nothing that no table needs.
func PostgresSchema(whole bool) *SchemaDialect {
	p := postgresSchema{whole}
	d := &SchemaDialect{
		Quote:   func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` },
		MaxName: 63,
		Types:   postgresTypes(),
		Steps: []func(s *RandomSchema){
			p.settings, p.schemas, p.extensions, p.enums, p.collations, p.functions, p.sequences, p.domains,
			p.composites,
			p.ranges, p.arrays, p.tables, p.needing, p.references,
		},
	}
	if whole {
		d.Steps = append(d.Steps, p.partitions, p.heirs, p.details, p.rowSecurity, p.views, p.triggers, p.others,
			p.refresh, p.rare)
	}
	return d
}

type postgresSchema struct{ whole bool }

func postgresTypes() []RandomType {
	return []RandomType{
		{"int", []string{"0", "-1", "2147483647"}, true, false},
		{"bigint", []string{"0", "'-9223372036854775808'"}, true, false},
		{"smallint", []string{"0", "32767"}, true, false},
		{"numeric", []string{"0", "'NaN'", "1.10", "-1e-30", "'Infinity'"}, true, false},
		{"numeric(10,2)", []string{"0", "-99999999.99", "1.1"}, true, false},
		{"real", []string{"0", "'-0'", "'NaN'", "1e-30"}, true, false},
		{"double precision", []string{"0.1", "'-Infinity'", "1e300"}, true, false},
		{"boolean", []string{"true", "false"}, true, false},
		{"text", OddTexts(), true, false},
		{`text COLLATE "C"`, OddTexts(), true, false},
		{"varchar(7)", []string{"''", "'1234567'"}, true, false},
		{"character(5)", []string{"''", "'a b'"}, true, false},
		{`"char"`, []string{"'a'", "''"}, true, false},
		{"name", []string{"'a'", "'B c'"}, true, false},
		{"bytea", []string{`'\x'`, `'\x00ff'`}, true, false},
		{"date", []string{"'2026-01-02'", "'infinity'", "'0044-03-15 BC'"}, true, false},
		{"time(3)", []string{"'24:00'", "'01:02:03.456'"}, true, false},
		{"timestamp", []string{"'2026-01-02 03:04:05.678901'", "'-infinity'"}, true, false},
		{"timestamptz(0)", []string{"'2026-01-02 03:04:05+06'"}, true, false},
		{"interval", []string{"'1 year -3 days 04:05:06.7'", "'-1 month'"}, true, false},
		{"interval day to second(2)", []string{"'3 days 04:05:06.71'"}, true, false},
		{"uuid", []string{"'00000000-0000-0000-0000-0000000000ff'"}, true, false},
		{"json", []string{`'{"b" : 1, "a":[]}'`, "'null'"}, false, false},
		{"jsonb", []string{`'{"b": 1, "a": []}'`, `'"x"'`}, true, false},
		{"xml", []string{`'<a b="c"/>'`}, false, false},
		{"inet", []string{"'10.0.0.1/8'", "'::1'"}, true, false},
		{"point", []string{"'(1,2)'"}, false, false},
		{"bit(3)", []string{"B'101'"}, true, false},
		{"bit varying", []string{"B''", "B'1'"}, true, false},
		{"money", []string{"'12.34'::text::money"}, true, false},
		{"int4range", []string{"'[1,5)'", "'empty'"}, true, false},
		{"datemultirange", []string{"'{[2026-01-01,2026-02-01)}'"}, true, false},
		{"int[]", []string{"'{}'", "'{1,NULL,3}'", "'[0:1]={5,6}'"}, true, false},
		{"text[]", []string{`'{"a,b","NULL",NULL,"\"\\"}'`, "'{{a},{b}}'"}, true, false},
		{"character(5)[]", []string{`'{ab,"c,\"",NULL}'`, "'{}'"}, true, false},
		{"varchar(7)[]", []string{"'{1234567}'"}, true, false},
		{"numeric(6,2)[]", []string{"'{1.5,-9999.99}'", "'{{1},{NaN}}'"}, true, false},
		{"bit(3)[]", []string{"'{101,000}'"}, true, false},
		{"timestamp(2)[]", []string{"'{2026-01-02 03:04:05.67}'"}, true, false},
		{"interval day to second(2)[]", []string{"'{3 days 04:05:06.71}'"}, true, false},
		{"time(1) with time zone[]", []string{"'{01:02:03.4+05:30}'"}, true, false},
		{"tsvector", []string{"'a:1 b'"}, true, false},
		{"pg_lsn", []string{"'16/B374D848'"}, true, false},
	}
}

// in returns a new name in one of the schemas.
func (postgresSchema) in(s *RandomSchema) string {
	return s.OneOf(s.Kept("schema")...) + "." + s.Name()
}

func (postgresSchema) comment(s *RandomSchema, kind, name string) {
	if s.IntN(2) == 0 {
		s.Add("COMMENT ON %s %s IS %s", kind, name, s.OneOf(OddTexts()[5:]...))
	}
}

func (postgresSchema) settings(s *RandomSchema) {
	s.Add("SET check_function_bodies = on")
	s.Add("SET client_min_messages = warning")
	s.Add("SET search_path = ''")
}

func (p postgresSchema) schemas(s *RandomSchema) {
	s.Keep("schema", "public")
	s.Some(3, func() {
		name := s.Name()
		s.Add("CREATE SCHEMA %s", name)
		p.comment(s, "SCHEMA", name)
		s.Keep("schema", name)
	})
}

func (p postgresSchema) extensions(s *RandomSchema) {
	in := s.OneOf(s.Kept("schema")...)
	s.Add("CREATE EXTENSION btree_gist WITH SCHEMA %s", in)
	s.Add("CREATE EXTENSION citext WITH SCHEMA %s", in)
	s.Add("CREATE EXTENSION hstore WITH SCHEMA %s", in)
	s.Add("CREATE EXTENSION pg_trgm WITH SCHEMA %s", in)
	s.Keep("gist", in)
	s.AddType(RandomType{in + ".citext", []string{"'A'", "'a b'"}, true, false})
	s.AddType(RandomType{in + ".hstore", []string{`'a=>1, "b c"=>NULL'`, "''"}, true, false})
}

func (p postgresSchema) enums(s *RandomSchema) {
	s.Some(2, func() {
		name := p.in(s)
		labels := []string{"'a'"}
		for _, label := range OddTexts() {
			if s.IntN(4) == 0 && label != "''" {
				labels = append(labels, label)
			}
		}
		s.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
		s.Add("CREATE TYPE %s AS ENUM (%s)", name, strings.Join(labels, ", "))
		s.Add("ALTER TYPE %s ADD VALUE 'before' BEFORE 'a'", name)
		p.comment(s, "TYPE", name)
		s.AddType(RandomType{name, labels, true, false})
	})
}

func (p postgresSchema) collations(s *RandomSchema) {
	name := p.in(s)
	s.Add("CREATE COLLATION %s (%s)", name, s.OneOf(
		"provider = icu, locale = 'de-u-co-phonebk'",
		"provider = icu, locale = 'und-u-ks-level2', deterministic = false",
		"provider = libc, locale = 'C.utf8'", "provider = libc, lc_collate = 'C', lc_ctype = 'C.utf8'"))
	p.comment(s, "COLLATION", name)
	s.Keep("collation", name)
	s.AddType(RandomType{"text COLLATE " + name, OddTexts(), true, false})
}

// functions makes one of each kind that a default, a check, a generated column and an index can call.
func (p postgresSchema) functions(s *RandomSchema) {
	text, number, sure, plain := p.in(s), p.in(s), p.in(s), p.in(s)
	s.Add("CREATE FUNCTION %s(a text, b text DEFAULT '; $$ '' \\') RETURNS text LANGUAGE sql IMMUTABLE %s "+
		"AS $x$ SELECT a || b; -- '\" $y$ ; \n$x$", text, s.OneOf("STRICT", "PARALLEL SAFE", "COST 7"))
	s.Add("CREATE FUNCTION %s(\"a b\" int, VARIADIC more int[] DEFAULT '{}') RETURNS int IMMUTABLE LANGUAGE sql %s\n"+
		"BEGIN ATOMIC SELECT \"a b\"; SELECT CASE WHEN \"a b\" > 0 THEN 1 ELSE 2 END + cardinality(more); END",
		number, s.Maybe("LEAKPROOF"))
	s.Add("CREATE FUNCTION %s(anyelement) RETURNS boolean LANGUAGE plpgsql IMMUTABLE %s AS "+
		"'BEGIN\n\t-- it''s $1; \\\n\tRETURN true; END'", sure, s.Maybe("SET search_path TO 'a b', public"))
	s.Add("CREATE FUNCTION %s() RETURNS int LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS $$ BEGIN RETURN 5; END $$",
		plain)
	for _, signature := range []string{text + "(text, text)", sure + "(anyelement)", plain + "()"} {
		p.comment(s, "FUNCTION", signature)
	}
	s.Keep("text function", text)
	s.Keep("int function", number)
	s.Keep("check function", sure)
	s.Keep("default function", plain)
}

func (p postgresSchema) sequences(s *RandomSchema) {
	s.Some(2, func() {
		name := p.in(s)
		s.Add("CREATE SEQUENCE %s %s", name, s.OneOf("AS smallint", "START 7 INCREMENT 3", "INCREMENT -2 CACHE 4",
			"MINVALUE -5 MAXVALUE 900 START 10 CYCLE", ""))
		if s.IntN(2) == 0 {
			s.Add("SELECT pg_catalog.nextval(%s)", p.literal(name))
		}
		p.comment(s, "SEQUENCE", name)
		s.Keep("sequence", name)
	})
}

func (postgresSchema) literal(text string) string {
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

func (p postgresSchema) domains(s *RandomSchema) {
	check := s.OneOf(s.Kept("check function")...)
	for _, of := range []RandomType{
		{"int", []string{"1", "77"}, true, false},
		{"text", OddTexts(), true, false},
		{"numeric(8,3)", []string{"1.500"}, true, false},
		{"int[]", []string{"'{1}'", "'{}'"}, true, false},
		{"character(4)[]", []string{"'{a,NULL}'"}, true, false},
	} {
		name, base := p.in(s), of.SQL
		of.NotNull = s.IntN(2) == 0
		clauses := s.Maybe("DEFAULT " + of.Values[0])
		if of.NotNull {
			clauses = "DEFAULT " + of.Values[0] + " NOT NULL"
		}
		if base == "text" {
			base += " COLLATE " + s.OneOf(append(s.Kept("collation"), `"C"`)...)
		}
		s.Add("CREATE DOMAIN %s AS %s %s CONSTRAINT %s CHECK (%s(VALUE)) CHECK (VALUE IS NULL OR VALUE IS NOT NULL)",
			name, base, clauses, s.Name(), check)
		p.comment(s, "DOMAIN", name)
		s.AddType(RandomType{SQL: name, Values: of.Values, Keyed: of.Keyed, NotNull: of.NotNull})
		s.Keep("domain", name)
	}
	// A domain over a domain.
	name := p.in(s)
	s.Add("CREATE DOMAIN %s AS %s DEFAULT 9 CHECK (VALUE > 0)", name, s.Kept("domain")[0])
	s.AddType(RandomType{name, []string{"5"}, true, true})
}

func (p postgresSchema) composites(s *RandomSchema) {
	s.Some(2, func() {
		name := p.in(s)
		var attributes []string
		values := []string{"ROW(", "ROW("}
		s.Some(4, func() {
			c := s.Column()
			if strings.Contains(c.Type.SQL, "money") {
				return
			}
			attributes = append(attributes, c.SQL+" "+c.Type.SQL)
			for i := range values {
				values[i] += s.Value(RandomColumn{
					Type:    c.Type,
					NotNull: true,
				}) + "::" + p.withoutCollation(c.Type.SQL) + ", "
			}
		})
		if len(attributes) == 0 {
			attributes, values = []string{"a int"}, []string{"ROW(1, "}
		}
		for i := range values {
			values[i] = strings.TrimSuffix(values[i], ", ") + ")::" + name
		}
		s.Add("CREATE TYPE %s AS (%s)", name, strings.Join(attributes, ", "))
		p.comment(s, "TYPE", name)
		s.AddType(RandomType{SQL: name, Values: values})
	})
}

func (postgresSchema) withoutCollation(sql string) string {
	sql, _, _ = strings.Cut(sql, " COLLATE ")
	return sql
}

func (p postgresSchema) ranges(s *RandomSchema) {
	name := p.in(s)
	s.Add("CREATE TYPE %s AS RANGE (subtype = float8, subtype_diff = float8mi)", name)
	s.AddType(RandomType{name, []string{"'[1.5,2.5)'", "'empty'"}, true, false})
	name, multi := p.in(s), p.in(s)
	s.Add("CREATE TYPE %s AS RANGE (subtype = text, collation = %s, multirange_type_name = %s)", name,
		s.OneOf(append(s.Kept("collation"), `pg_catalog."C"`)...), multi)
	p.comment(s, "TYPE", name)
	s.AddType(RandomType{multi, []string{"'{[a,b)}'"}, true, false})
}

// arrays adds arrays of the types that were made.
func (p postgresSchema) arrays(s *RandomSchema) {
	for _, of := range s.Types()[len(postgresTypes()):] {
		if s.IntN(6) == 0 && !strings.Contains(of.SQL, "COLLATE") {
			values := []string{"'{}'"}
			for _, value := range of.Values[:min(2, len(of.Values))] {
				values = append(values, fmt.Sprintf("ARRAY[%s]::%s[]", value, of.SQL))
			}
			s.AddType(RandomType{of.SQL + "[]", values, of.Keyed, false})
		}
	}
}
