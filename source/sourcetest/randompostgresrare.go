package sourcetest

// rare makes what few databases have, but pg_dump prints.
func (p postgresSchema) rare(s *RandomSchema) {
	p.rareTypes(s)
	p.rareTables(s)

	parser, template, dictionary := p.in(s), p.in(s), p.in(s)
	s.Add("CREATE TEXT SEARCH PARSER %s (start = prsd_start, gettoken = prsd_nexttoken, end = prsd_end, "+
		"lextypes = prsd_lextype)", parser)
	s.Add("CREATE TEXT SEARCH TEMPLATE %s (init = dsimple_init, lexize = dsimple_lexize)", template)
	s.Add("CREATE TEXT SEARCH DICTIONARY %s (template = %s)", dictionary, template)
	s.Add("CREATE TEXT SEARCH CONFIGURATION %s (parser = %s)", p.in(s), parser)

	s.Add("CREATE TRANSFORM FOR int LANGUAGE sql (FROM SQL WITH FUNCTION prsd_lextype(internal), " +
		"TO SQL WITH FUNCTION int4recv(internal))")
	guard, refuses := s.Name(), p.in(s)
	s.Add("CREATE FUNCTION %s() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''no''; END'", refuses)
	s.Add("CREATE EVENT TRIGGER %s ON sql_drop WHEN TAG IN ('DROP AGGREGATE', 'DROP ROUTINE') EXECUTE FUNCTION %s()",
		guard, refuses)
	s.Add("CREATE EVENT TRIGGER %s ON ddl_command_start WHEN TAG IN ('DROP AGGREGATE') EXECUTE FUNCTION %s()", s.Name(),
		refuses)
	s.Add("ALTER EVENT TRIGGER %s DISABLE", guard)
	p.comment(s, "EVENT TRIGGER", guard)
}

// rareTypes makes a type with functions of its own, and classes of operators.
func (p postgresSchema) rareTypes(s *RandomSchema) {
	base, in, out, table, indexed := p.in(s), p.in(s), p.in(s), p.in(s), p.in(s)
	s.Add("CREATE TYPE %s", base)
	s.Add("CREATE FUNCTION %s(cstring) RETURNS %s LANGUAGE internal IMMUTABLE STRICT AS 'int4in'", in, base)
	s.Add("CREATE FUNCTION %s(%s) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out'", out, base)
	s.Add("CREATE TYPE %s (input = %s, output = %s, like = int4)", base, in, out)
	s.Add("CREATE TABLE %s (v %s, all_v %s[])", table, base, base)
	s.Add("INSERT INTO %s VALUES ('7', '{8,NULL}'), (NULL, '{}')", table)

	family, class := p.in(s), p.in(s)
	s.Add("CREATE OPERATOR FAMILY %s USING btree", family)
	s.Add("CREATE OPERATOR CLASS %s FOR TYPE int USING btree FAMILY %s AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, "+
		"OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 btint4cmp(int, int)", class, family)
	s.Add("ALTER OPERATOR FAMILY %s USING btree ADD OPERATOR 1 < (int, bigint)", family)
	s.Add("CREATE TABLE %s (a int)", indexed)
	s.Add("CREATE INDEX ON %s (a %s)", indexed, class)
}

// rareTables makes tables of a type, by another method and without columns, and views that need functions that need
// them.
func (p postgresSchema) rareTables(s *RandomSchema) {
	schema := s.OneOf(s.Kept("schema")...) // of a sequence and the table that owns it
	of, typed, method := p.in(s), schema+"."+s.Name(), s.Name()
	s.Add("CREATE TYPE %s AS (a int, b text)", of)
	s.Add("CREATE TABLE %s OF %s (a DEFAULT 5, PRIMARY KEY (a), CHECK (b <> 'y'))", typed, of)
	s.Add("CREATE SEQUENCE %s OWNED BY %s.a", schema+"."+s.Name(), typed)
	s.Add("INSERT INTO %s VALUES (3, 'x'), (DEFAULT, NULL)", typed)
	s.Add("CREATE ACCESS METHOD %s TYPE TABLE HANDLER heap_tableam_handler", method)
	s.Add("CREATE TABLE %s USING %s AS SELECT 1 AS a", p.in(s), method)
	s.Add("CREATE TABLE %s ()", p.in(s))

	view, function := p.in(s), p.in(s)
	s.Add("CREATE VIEW %s AS SELECT 1 AS a, 'x'::text AS b", view)
	s.Add("CREATE FUNCTION %s(%s) RETURNS int LANGUAGE sql STABLE AS 'SELECT $1.a'", function, view)
	s.Add("CREATE OR REPLACE VIEW %s AS SELECT 1 AS a, 'x'::text AS b, %s(NULL) AS c", view, function)
}
