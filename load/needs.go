package load

import (
	"context"

	"culvert/export"
	"culvert/sink"
	"culvert/source"
)

// needsOf returns what the tables of an export need beside their definitions, if that is known and the sink can make
// it.
func (p *Plan) needsOf(ctx context.Context, dst sink.Sink, from *export.Directory) (*source.Schema, error) {
	_, provides := dst.(sink.Provider)
	of := from.Manifest.Schema
	if !p.Create || !provides || of == nil || !of.Needs && of.ForTables == 0 {
		return nil, nil
	}
	schema, err := from.Schema(ctx)
	return schema.Needed(), err
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
func (p *Plan) provide(ctx context.Context, dst sink.Sink, schema *source.Schema, planned []Planned) error {
	needed := schema.NeededBy(missingOf(planned))
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
	return p.missing(ctx, dst, schema, planned)
}

// PreviewCopyNeeds is PreviewNeeds for CopyTables and PreviewTables.
func (p *Plan) PreviewCopyNeeds(
	ctx context.Context, dst sink.Sink, src source.Source, planned []Planned,
) ([]source.Statement, error) {
	if _, provides := dst.(sink.Provider); !provides || !p.Create {
		return nil, nil
	}
	schema, err := source.NeedsOf(ctx, src, missingOf(planned))
	if err != nil || schema == nil {
		return nil, err
	}
	return p.missing(ctx, dst, schema, planned)
}

func (p *Plan) missing(
	ctx context.Context, dst sink.Sink, schema *source.Schema, planned []Planned,
) ([]source.Statement, error) {
	return dst.(sink.Provider).Missing(ctx, schema.NeededBy(missingOf(planned)), p.Filling)
}
