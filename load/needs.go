package load

import (
	"context"

	"culvert/export"
	"culvert/mask"
	"culvert/sink"
	"culvert/source"
)

// needsOf returns what the tables of an export need beside their definitions, if that is known and the sink can make
// it.
func (p *Plan) needsOf(ctx context.Context, dst sink.Sink, from *export.Directory) (*source.Schema, error) {
	of := from.Manifest.Schema
	if !p.Create || of == nil || !of.Needs && of.ForTables == 0 {
		return nil, nil
	}
	if _, provides := sink.ProviderOf(dst, of.Dialect); !provides {
		return nil, nil
	}
	schema, err := from.Schema(ctx)
	return schema.Needed(), err
}

// withNeeds returns the plan for tables of an export, with what they need.
func (p *Plan) withNeeds(ctx context.Context, dst sink.Sink, from *export.Directory) (*Plan, error) {
	schema, err := p.needsOf(ctx, dst, from)
	all := *p
	all.Filling.Provided = schema
	return &all, err
}

// needsOfSource is needsOf for tables of a source that were found. With a ledger, the tables are those of a database
// whose schema is made.
func (p *Plan) needsOfSource(
	ctx context.Context, dst sink.Sink, src source.Source, jobs []*job,
) (*source.Schema, error) {
	if len(jobs) == 0 || !p.Create || p.Filling.Ledger != nil {
		return nil, nil
	}
	if _, provides := sink.ProviderOf(dst, jobs[0].system); !provides {
		return nil, nil
	}
	names, known := make([]string, len(jobs)), make([]mask.Table, len(jobs))
	for i, j := range jobs {
		names[i], known[i] = j.name, mask.Table{Name: j.name, Definition: j.create}
	}
	schema, err := source.NeedsOf(ctx, src, names)
	return p.Masks.Schema(schema, known), err
}

// missingOf returns the names of the tables that are to be made.
func missingOf(planned []Planned) (names []string) {
	for _, one := range planned {
		if one.Err == nil && !one.Exists {
			names = append(names, one.Name)
		}
	}
	return names
}

// provide makes what tables need that are to be made.
func (p *Plan) provide(ctx context.Context, dst sink.Sink, planned []Planned) error {
	if p.Filling.Provided == nil {
		return nil
	}
	needed := p.Filling.Provided.NeededBy(missingOf(planned))
	if len(needed.Statements) == 0 {
		return nil
	}
	_, err := dst.(sink.Provider).Provide(ctx, needed, p.Filling)
	return err
}

// PreviewNeeds returns the statements that Directory would run before it makes the tables that Preview has returned:
// those of types and others that the tables need, and the database does not have.
func (p *Plan) PreviewNeeds(
	ctx context.Context, dst sink.Sink, from *export.Directory, planned []Planned,
) ([]source.Statement, error) {
	schema, err := p.needsOf(ctx, dst, from)
	if err != nil || schema == nil {
		return nil, err
	}
	return dst.(sink.Provider).Missing(ctx, schema.NeededBy(missingOf(planned)), p.Filling)
}

// PreviewCopyNeeds is PreviewNeeds for CopyTables and PreviewTables.
func (p *Plan) PreviewCopyNeeds(
	ctx context.Context, dst sink.Sink, src source.Source, planned []Planned,
) ([]source.Statement, error) {
	described, err := source.Describe(ctx, src)
	if err != nil || !p.Create {
		return nil, err
	}
	provider, provides := sink.ProviderOf(dst, source.DialectOf(described.System))
	if !provides {
		return nil, nil
	}
	names := missingOf(planned)
	schema, err := source.NeedsOf(ctx, src, names)
	if err != nil || schema == nil {
		return nil, err
	}
	tables := make([]Names, len(names))
	for i, name := range names {
		tables[i].From = name
	}
	known, err := p.checkMasks(ctx, src, tables)
	if err != nil {
		return nil, err
	}
	return provider.Missing(ctx, p.Masks.Schema(schema, known).NeededBy(names), p.Filling)
}
