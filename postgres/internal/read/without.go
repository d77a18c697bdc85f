package read

import (
	"context"
	"slices"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/postgres/internal/sqltext"
	"culvert/source"
)

// without is what a schema leaves out: tables, and what cannot be made without them.
type without struct {
	oids      []string // of the tables, and of views that read them
	relations []string // the same, as SQL
	views     []string // as SQL
	begins    []string // of statements that make functions and policies
	keys      map[string]bool
	lacks     []string
}

// dependentsSQL finds what cannot be made without the relations $1: these, their partitions, views that
// read them, functions that name
// their types or have them in a body that the server has parsed, and policies; and what needs those.
const dependentsSQL = `
WITH RECURSIVE gone(class, oid) AS (
	SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::oid, w.oid FROM unnest($1::oid[]) AS w(oid)
	UNION SELECT found.class, found.oid FROM gone g, LATERAL (
		SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::oid, r.ev_class FROM pg_catalog.pg_depend d
			JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid JOIN pg_catalog.pg_class c ON c.oid = r.ev_class
			WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.refclassid = g.class
				AND d.refobjid = g.oid AND c.relkind IN ('v', 'm')
		UNION ALL SELECT d.classid, d.objid FROM pg_catalog.pg_depend d
			WHERE d.refclassid = g.class AND d.refobjid = g.oid AND d.deptype = 'n' AND d.classid IN (
				'pg_catalog.pg_proc'::pg_catalog.regclass, 'pg_catalog.pg_policy'::pg_catalog.regclass)
		UNION ALL SELECT 'pg_catalog.pg_type'::pg_catalog.regclass::oid, t.oid FROM pg_catalog.pg_type t
			WHERE g.class = 'pg_catalog.pg_class'::pg_catalog.regclass AND t.typrelid = g.oid
		UNION ALL SELECT g.class, i.inhrelid FROM pg_catalog.pg_inherits i
			WHERE g.class = 'pg_catalog.pg_class'::pg_catalog.regclass AND i.inhparent = g.oid
		UNION ALL SELECT g.class, t.typarray FROM pg_catalog.pg_type t
			WHERE g.class = 'pg_catalog.pg_type'::pg_catalog.regclass AND t.oid = g.oid AND t.typarray <> 0
		OFFSET 0) AS found(class, oid))
SELECT c.relkind::text, c.oid::text, pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname), ''
FROM gone g JOIN pg_catalog.pg_class c ON c.oid = g.oid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE g.class = 'pg_catalog.pg_class'::pg_catalog.regclass
UNION ALL SELECT 'function', p.oid::text,
	pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(p.proname),
	CASE p.prokind WHEN 'p' THEN 'PROCEDURE ' ELSE 'FUNCTION ' END
		|| pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(p.proname) || '('
FROM gone g JOIN pg_catalog.pg_proc p ON p.oid = g.oid JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE g.class = 'pg_catalog.pg_proc'::pg_catalog.regclass
UNION ALL SELECT 'policy', p.oid::text, pg_catalog.quote_ident(p.polname),
	'POLICY ' || pg_catalog.quote_ident(p.polname) || ' ON '
		|| pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname) || ' '
FROM gone g JOIN pg_catalog.pg_policy p ON p.oid = g.oid JOIN pg_catalog.pg_class c ON c.oid = p.polrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE g.class = 'pg_catalog.pg_policy'::pg_catalog.regclass AND NOT EXISTS (SELECT FROM gone o WHERE o.oid = c.oid)
ORDER BY 3, 2`

// findWithout looks up what a schema leaves out. It is nil if that is nothing.
func (s *session) findWithout(ctx context.Context, config source.SchemaConfig) (*without, error) {
	if len(config.Without)+len(config.WithoutKeys) == 0 {
		return nil, nil
	}
	w := &without{keys: map[string]bool{}}
	for _, key := range config.WithoutKeys {
		w.keys[key.Table.Schema+"\x00"+key.Table.Name+"\x00"+key.Name] = true
	}
	var schemas, names []string
	for _, table := range config.Without {
		schemas, names = append(schemas, table.Schema), append(names, table.Name)
	}
	oids, err := s.list(ctx, `
SELECT c.oid FROM unnest($1::text[], $2::text[]) AS w(nspname, relname)
JOIN pg_catalog.pg_namespace n ON n.nspname = w.nspname
JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = w.relname`,
		sqltext.Array(schemas), sqltext.Array(names))
	if err != nil {
		return nil, err
	}
	found, err := s.query(ctx, 4, dependentsSQL, sqltext.Array(oids))
	if err != nil {
		return nil, err
	}
	for _, row := range found {
		kind, name := string(row[0]), string(row[2])
		switch kind {
		case "function", "policy":
			w.begins = append(w.begins, string(row[3]))
			w.lacks = append(w.lacks, "the "+kind+" "+name+", which needs a table that is left out")
			continue
		case "v", "m":
			w.views = append(w.views, name)
			w.lacks = append(w.lacks, "the view "+name+", which needs a table that is left out")
		}
		w.oids, w.relations = append(w.oids, string(row[1])), append(w.relations, name)
	}
	return w, nil
}

var (
	addsKey = lazyregexp.New(`(?s)^ALTER TABLE (?:ONLY )?(` + nameSQL + `)\.(` + nameSQL + `)\s+ADD CONSTRAINT (` +
		nameSQL + `) FOREIGN KEY `)
	madeObject = lazyregexp.New(`^(?:CREATE|ALTER|COMMENT ON|GRANT .* ON|REVOKE .* ON) ` +
		`((?:FUNCTION|PROCEDURE|POLICY) .*)`)
)

// nameSQL matches a name as the server quotes it.
const nameSQL = `"(?:[^"]|"")*"|[^"\s.]+`

// leavesOut reports whether a statement makes what is left out, or changes it.
func (w *without) leavesOut(sql string) bool {
	if w == nil {
		return false
	}
	if key := addsKey.FindStringSubmatch(sql); key != nil {
		return w.keys[unquote(key[1])+"\x00"+unquote(key[2])+"\x00"+unquote(key[3])]
	}
	object := madeObject.FindStringSubmatch(sql)
	return object != nil && slices.ContainsFunc(w.begins, func(begin string) bool {
		return strings.HasPrefix(object[1], begin)
	})
}

// unquote returns the name that SQL stands for.
func unquote(name string) string {
	if inner, is := strings.CutPrefix(name, `"`); is {
		return strings.ReplaceAll(strings.TrimSuffix(inner, `"`), `""`, `"`)
	}
	return name
}
