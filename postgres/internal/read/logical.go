package read

import (
	"culvert/internal/sqlsource"
	"culvert/source"
)

// typed returns a column by its type, and by what that is made of.
func typed(name string, of, madeOf []byte) source.Column {
	return source.Column{
		Name: name, Type: string(of), Logical: sqlsource.Logical(source.PostgreSQL, string(madeOf)),
	}
}

// madeOf returns, as SQL, the name of what a type is made of in the end, for [sqlsource.Logical]: the type below a
// domain, "enum", and "text" for any other type that says that it is one of strings, such as citext. Only names of the
// system have no schema. Most types are the system's own, with the numbers that the sources give them, and need no look
// into the catalog.
func madeOf(oid, modifier string) string {
	const (
		firstOfInstallation = "10000" // FirstGenbkiObjectId: the next types are made by the server, and by users
		isDomain            = "t.typtype = 'd'"
		isArray             = "t.typtype = 'b' AND t.typcategory = 'A' AND t.oid >= " + firstOfInstallation
	)
	return `CASE WHEN ` + oid + ` < ` + firstOfInstallation + `
	THEN pg_catalog.format_type(` + oid + `, ` + modifier + `) ELSE (
	WITH RECURSIVE made(type, modifier, suffix) AS (
		SELECT ` + oid + `, ` + modifier + `, ''
		UNION ALL SELECT CASE WHEN ` + isDomain + ` THEN t.typbasetype ELSE t.typelem END,
			CASE WHEN ` + isDomain + ` THEN t.typtypmod ELSE m.modifier END,
			CASE WHEN ` + isDomain + ` THEN m.suffix ELSE m.suffix || '[]' END
		FROM made m JOIN pg_catalog.pg_type t ON t.oid = m.type WHERE ` + isDomain + ` OR ` + isArray + `)
	SELECT CASE WHEN t.typtype = 'e' THEN 'enum'
		WHEN t.typtype = 'b' AND t.typcategory = 'S' AND t.oid >= ` + firstOfInstallation + ` THEN 'text'
		ELSE pg_catalog.format_type(m.type, m.modifier) END || m.suffix
	FROM made m JOIN pg_catalog.pg_type t ON t.oid = m.type WHERE NOT (` + isDomain + ` OR ` + isArray + `)) END`
}
