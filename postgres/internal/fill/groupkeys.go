package fill

import (
	"fmt"
	"strings"

	"culvert/sink"
)

// groupKeys are the foreign keys between the tables of a group that no order of the tables suits.
type groupKeys struct {
	order    []int
	circular []groupKey
}

type groupKey struct {
	sink.Key
	name, table  string
	isDeferrable bool
	mayAlter     bool // the user may make it deferrable
}

// groupKeysSQL returns the foreign keys between the tables $1, or partitions of them, with the places of both in $1.
// Keys that another one of a partitioned table has made are left out.
const groupKeysSQL = `
WITH member AS (SELECT oid, i - 1 AS place FROM unnest($1::oid[]) WITH ORDINALITY AS u (oid, i)),
family AS (
	SELECT oid, place FROM member
	UNION SELECT p.relid, place FROM member, pg_partition_tree(member.oid) AS p)
SELECT a.place, b.place, quote_ident(k.conname), format('%I.%I', n.nspname, c.relname), k.condeferrable,
	pg_has_role(c.relowner, 'USAGE')
FROM pg_constraint k JOIN family a ON a.oid = k.conrelid JOIN family b ON b.oid = k.confrelid
JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'f' AND k.conparentid = 0
ORDER BY 4, 3`

// lookForKeys decides in which order the tables are filled, and how the keys that it does not suit are deferred.
func (g *group) lookForKeys() error {
	var oids []string
	for _, p := range g.plans {
		oid := p.target.oid
		if oid == "" {
			oid = "0" // it will be made, and has no keys before the end
		}
		oids = append(oids, oid)
	}
	s := g.db.session
	found, err := s.query(g.ctx, 6, groupKeysSQL, "{"+strings.Join(oids, ",")+"}")
	if err != nil {
		return s.failed(g.ctx, "looking for the foreign keys of tables", err)
	}
	var all []groupKey
	var links []sink.Key
	for _, row := range found {
		var key groupKey
		if _, err := fmt.Sscan(string(row[0])+" "+string(row[1]), &key.From, &key.To); err != nil {
			return errAnswer
		}
		key.name, key.table = string(row[2]), string(row[3])
		key.isDeferrable, key.mayAlter = string(row[4]) == "t", string(row[5]) == "t"
		all, links = append(all, key), append(links, key.Key)
	}
	order, isCircular := sink.OrderByKeys(len(g.plans), links)
	g.keys = groupKeys{order: order}
	for i, key := range all {
		if isCircular[i] {
			g.keys.circular = append(g.keys.circular, key)
		}
	}
	for _, key := range g.keys.circular {
		if !key.isDeferrable && !key.mayAlter && key.From != key.To {
			return fmt.Errorf("postgres: tables that refer to each other in a circle cannot be filled, since the key "+
				"%s of %s is not deferrable and the user does not own the table: have its owner run ALTER TABLE %s "+
				"ALTER CONSTRAINT %s DEFERRABLE", key.name, key.table, key.table, key.name)
		}
	}
	return nil
}

// deferSQL has the server check the keys at the end. One that is not deferrable is so until then. A table that refers
// to itself, and of which the user is not the owner, is checked after each COPY. A statement that names a constraint
// would take those of other tables that have the same name too, and fail if one is not deferrable.
func (k *groupKeys) deferSQL() []string {
	var statements []string
	isDeferred := false
	for _, key := range k.circular {
		if !key.isDeferrable && key.mayAlter {
			statements = append(statements, key.alterSQL("DEFERRABLE"))
		}
		isDeferred = isDeferred || key.isDeferrable || key.mayAlter
	}
	if !isDeferred {
		return nil
	}
	return append(statements, "SET CONSTRAINTS ALL DEFERRED")
}

// restoreSQL makes the keys as they were.
func (k *groupKeys) restoreSQL() []string {
	var statements []string
	for _, key := range k.circular {
		if !key.isDeferrable && key.mayAlter {
			statements = append(statements, key.alterSQL("NOT DEFERRABLE"))
		}
	}
	return statements
}

func (k *groupKey) alterSQL(as string) string {
	return "ALTER TABLE " + k.table + " ALTER CONSTRAINT " + k.name + " " + as
}
