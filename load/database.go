package load

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"culvert/export"
	"culvert/manifest"
	"culvert/sink"
	"culvert/source"
)

// Database makes a whole database again: it runs the statements of the schema of an export that come before the rows,
// loads all its tables as [Plan.Directory] does, and runs the statements that come after them. The sink must be a
// [sink.Restorer] of the same system, and have nothing of it yet. Of the Filling, only Convert, LockTimeout and Redact
// may be set.
//
// What is done is recorded in the database. If Database has failed or was killed, and is called again with the same
// load, it does what is missing. The load tells this export from others.
//
// If tables fail, the error is a [*PartialError], and the statements after the rows are not run. Tables whose export
// has failed do not keep them from being run, and are the PartialError at the end. If statements fail, the error is a
// [*sink.StatementsError].
func (p *Plan) Database(
	ctx context.Context, dst sink.Sink, from *export.Directory, load string,
) (all []Stats, err error) {
	schema, err := from.Schema(ctx)
	if err != nil {
		return nil, err
	}
	r, err := p.restore(ctx, dst, schema, load)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	names := map[string]string{}
	missing := 0
	for i := range from.Manifest.Tables {
		if from.Manifest.Tables[i].Error != "" {
			missing++
			continue
		}
		if schema.Tables && from.Manifest.Tables[i].IsDefined() {
			continue // the schema makes it
		}
		name := from.Manifest.Tables[i].Name
		names[name] = schema.StagedIn(name)
	}
	if len(names) > 0 && p.tries(schema) && !r.Filled() {
		each := p.ofDatabase(schema)
		each.Filling.Ledger = r.Ledger()
		// A table in one file is committed once, with its row in the ledger.
		each.Filling.EachPart = schema.Tables && slices.ContainsFunc(from.Manifest.Tables, func(t manifest.Table) bool {
			return len(t.Parts) > 1
		})
		all, err = each.Directory(ctx, dst, from, names)
		if madeLater(all); err != nil {
			return all, errors.Join(err, abandon(ctx, r, err))
		}
	}
	if err := r.Finish(ctx, p.loaders()); err != nil {
		return all, err
	}
	if missing > 0 && p.tries(schema) {
		return all, &PartialError{Failed: missing, Tables: missing + len(names)}
	}
	return all, nil
}

// CopyDatabase is Database for the tables of another database, whose schema is given. If the copy goes on, all tables
// are copied again where the schema makes them, in the snapshot of that time. With the other systems, tables that are
// committed stay as they are, so they have the rows of an earlier snapshot. If the schema has OwnRows, the source is
// separated, and the tables must have been listed after [source.Separate]. Tables that are Staged must be named with
// the tables that receive their rows.
func (p *Plan) CopyDatabase(
	ctx context.Context, dst sink.Sink, src source.Source, schema *source.Schema, tables []Names,
) (all []Stats, err error) {
	if err := p.checkCopy(); err != nil {
		return nil, err
	}
	known, err := p.checkMasks(ctx, src, tables)
	if err != nil {
		return nil, err
	}
	schema = p.Masks.Schema(schema, known)
	description, err := source.Describe(ctx, src)
	if err != nil {
		return nil, err
	}
	r, err := p.restore(ctx, dst, schema, identifyCopy(description, schema))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if schema.OwnRows {
		source.Separate(src)
	}
	if len(tables) > 0 && p.tries(schema) && !r.Filled() {
		each := p.ofDatabase(schema)
		if each.Create {
			each.Filling.Ledger = r.Ledger()
		} else {
			each.Filling.Existing = sink.Truncate // what an interrupted copy has left, in tables that are its own
		}
		all, err = each.copyTables(ctx, dst, src, tables)
		if madeLater(all); err != nil {
			return all, errors.Join(err, abandon(ctx, r, err))
		}
	}
	return all, r.Finish(ctx, p.loaders())
}

// abandon has the database forget a load of which no rows are there, if tables could not be filled.
func abandon(ctx context.Context, r sink.Restoration, err error) error {
	if _, is := errors.AsType[*PartialError](err); !is || ctx.Err() != nil || errors.Is(err, source.ErrUnavailable) ||
		errors.Is(err, sink.ErrUnconfirmed) {
		return nil
	}
	return r.Abandon(ctx)
}

// tries reports whether tables must be filled, or at least be made.
func (p *Plan) tries(schema *source.Schema) bool { return !p.SchemaOnly || !schema.Tables }

// ofDatabase returns the plan for the tables of a database that is made again.
func (p *Plan) ofDatabase(schema *source.Schema) *Plan {
	each := *p
	each.Create, each.Filling.OwnRows, each.fresh = !schema.Tables, schema.OwnRows, schema.Tables
	each.Filling.KeepSequences = true // the schema has their positions
	return &each
}

// madeLater takes back that tables were made without what the schema makes after the rows.
func madeLater(all []Stats) {
	for i := range all {
		all[i].Omitted = slices.DeleteFunc(slices.Clone(all[i].Omitted), func(name string) bool {
			return strings.HasPrefix(name, "the trigger ") || strings.HasPrefix(name, "the default nextval(")
		})
	}
}

func (p *Plan) restore(
	ctx context.Context, dst sink.Sink, schema *source.Schema, load string,
) (sink.Restoration, error) {
	restorer, is := dst.(sink.Restorer)
	if p.SchemaOnly {
		load = "schema " + load // whose end is another one
	}
	switch {
	case schema == nil:
		return nil, errors.New("load: there is no schema of the whole database")
	case !is:
		return nil, errors.New("load: the database cannot be made by a schema")
	case schema.Tables && len(p.Types) > 0:
		return nil, errors.New("load: the schema makes the tables with their own types: name those that get others")
	}
	return restorer.Restore(ctx, load, schema, p.Filling)
}

// identifyCopy tells the copy of a database from others. What comes after the rows has the positions of sequences,
// which may have changed when a copy is repeated.
func identifyCopy(of source.Description, schema *source.Schema) string {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%q %q", of.System, of.Database) // a hash returns no error
	for _, one := range schema.Statements {
		if !one.After {
			_, _ = fmt.Fprintf(h, " %q", one.SQL)
		}
	}
	return "copy " + hex.EncodeToString(h.Sum(nil))
}
