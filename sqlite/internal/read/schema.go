package read

import (
	"context"

	"github.com/ncruces/go-sqlite3"

	"culvert/source"
	"culvert/sqlite/internal/dbfile"
)

var _ source.Schemer = (*DB)(nil)

// Schema returns what a database file has beside its tables: views, FTS5 tables whose content is a view, the settings
// of FTS5 tables, triggers, and the numbers that programs keep in the header of the file. All of it follows the rows.
// SQLite has no rights. A load that has not ended is in Lacks, and so is UTF-16, since files are made in UTF-8.
func (db *DB) Schema(ctx context.Context, config source.SchemaConfig) (_ *source.Schema, err error) {
	defer db.catch(&err)
	s := &source.Schema{Dialect: source.SQLite}
	if s.Lacks, err = db.omittedVirtuals(ctx, true); err != nil {
		return nil, err
	}
	if unended, err := db.ordinary(ctx, dbfile.Restoring); err != nil {
		return nil, err
	} else if unended != "" {
		s.Lacks = append(s.Lacks, "a load that has not ended (the table "+unended+")")
	}
	wide, err := db.texts(ctx, encodingSQL)
	if err != nil {
		return nil, err
	}
	s.Lacks = append(s.Lacks, wide...)
	views, triggers, err := db.viewsAndTriggers(ctx, config.Without, s)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, part := range []func(context.Context) ([]string, error){
		func(context.Context) ([]string, error) { return views, nil },
		db.textIndexesOfViews,
		db.settingsOfTexts,
		func(context.Context) ([]string, error) { return triggers, nil },
		func(ctx context.Context) ([]string, error) { return db.texts(ctx, numbersSQL) },
	} {
		all, err := part(ctx)
		if err != nil {
			return nil, err
		}
		for _, sql := range all {
			if size += len(sql); size > source.MaxSchema {
				return nil, source.ErrSchemaTooLarge
			}
			s.Statements = append(s.Statements, source.Statement{After: true, SQL: sql})
		}
	}
	return s, nil
}

// numbersSQL returns statements that set the numbers in the header.
const numbersSQL = `
SELECT 'PRAGMA user_version = ' || user_version FROM pragma_user_version WHERE user_version <> 0
UNION ALL SELECT 'PRAGMA application_id = ' || application_id FROM pragma_application_id WHERE application_id <> 0`

// encodingSQL names the encoding, which an expression sees that takes a text for a BLOB.
const encodingSQL = `
SELECT 'the encoding ' || encoding || ' (a file that is made has UTF-8)' FROM pragma_encoding WHERE encoding <> 'UTF-8'`

// viewNamed returns the name of a view as the database writes it, or "".
func (db *DB) viewNamed(ctx context.Context, name string) (string, error) {
	known, err := db.known(ctx)
	if err != nil {
		return "", err
	}
	if o := known.tables[lower(name)]; o.isView {
		return o.name, nil
	}
	return "", nil
}

// textIndexesOfViews returns what makes and fills the FTS5 tables whose content is a view.
func (db *DB) textIndexesOfViews(ctx context.Context) (statements []string, err error) {
	all, err := db.virtuals(ctx)
	for _, v := range all {
		content, outside := v.content()
		if !outside || content == "" {
			continue
		}
		view, err := db.viewNamed(ctx, content)
		if err != nil {
			return nil, err
		}
		if view == "" {
			continue
		}
		made, err := db.statementOf(ctx, v.name)
		if err != nil {
			return nil, err
		}
		name := sqlite3.QuoteIdentifier(v.name)
		statements = append(statements, made, "INSERT INTO main."+name+" ("+name+") VALUES ('rebuild')")
	}
	return statements, err
}

// settingsOfTexts returns what makes the settings of FTS5 tables.
func (db *DB) settingsOfTexts(ctx context.Context) (statements []string, err error) {
	all, err := db.virtuals(ctx)
	for _, v := range all {
		if content, outside := v.content(); outside && content == "" {
			continue
		}
		set, err := db.settings(ctx, v)
		if err != nil {
			return nil, err
		}
		name := sqlite3.QuoteIdentifier(v.name)
		for _, values := range set {
			statements = append(statements, "INSERT INTO main."+name+" ("+name+", rank) VALUES ("+values+")")
		}
	}
	return statements, err
}
