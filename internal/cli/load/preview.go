package load

import (
	"context"

	"culvert/export"
	"culvert/format"
	"culvert/internal/cli/argument"
	"culvert/sink"
)

// preview is a [doer] that changes nothing.
type preview struct {
	*loading
	r *PlanReport
}

func (p *preview) text(
	ctx context.Context, db sink.Sink, in *argument.Input, text *export.Reader, readable format.Readable,
) error {
	plan, err := p.plan.PreviewText(ctx, db, text, in.Name, readable, p.tables[0].to)
	if err != nil {
		return err
	}
	p.r.add(plan)
	return nil
}

func (p *preview) directory(
	ctx context.Context, db sink.Sink, _ *argument.Location, from *export.Directory,
) error {
	plans, err := p.plan.Preview(ctx, db, from, namesOf(p.tables))
	for _, plan := range plans {
		p.r.add(plan)
	}
	return err
}
