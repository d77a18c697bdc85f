package load

import (
	"context"
	"io"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/export"
	"culvert/format"
	"culvert/load"
	"culvert/sink"
)

// preview is a [doer] that changes nothing.
type preview struct {
	*loading
	r *PlanReport
}

func (p *preview) text(
	ctx context.Context, db sink.Sink, in *argument.Input, text io.Reader, readable format.Readable,
) error {
	plan, err := p.plan.PreviewText(ctx, db, text, in.Name, readable, p.tables[0].to)
	if err != nil {
		return err
	}
	p.r.add(load.Planned{Plan: plan})
	return nil
}

func (p *preview) columns(
	ctx context.Context, db sink.Sink, in *argument.Input, from columns,
) error {
	var plan sink.Plan
	var err error
	if from.stream != nil {
		plan, err = p.plan.PreviewStream(ctx, db, from.stream, in.Name, p.tables[0].to)
	} else {
		plan, err = p.plan.PreviewFile(ctx, db, from.file, in.Name, p.tables[0].to)
	}
	if err != nil {
		return err
	}
	p.r.add(load.Planned{Plan: plan})
	return nil
}

func (p *preview) directory(
	ctx context.Context, db sink.Sink, at *argument.Location, from *export.Directory,
) error {
	planned, err := p.plan.Preview(ctx, db, from, namesOf(p.tables))
	if len(planned) == 0 {
		return err
	}
	needs, missing := p.plan.PreviewNeeds(ctx, db, from, planned)
	if missing != nil {
		return withNeedsHint(missing)
	}
	p.r.addNeeds(needs)
	return p.work.preview(p.r, planned, err, func(err error) error { return p.explain(at, err) })
}

// preview reports what would become of tables, and which of them fail.
func (r *work) preview(report *PlanReport, planned []load.Planned, err error, explain func(error) error) error {
	var failures []failure
	for _, one := range planned {
		if one.Err == nil {
			report.add(one)
			continue
		}
		failed := explain(one.Err)
		report.Tables = append(report.Tables, PlannedTable{
			Table: one.Table, Columns: []string{}, Steps: []string{}, Error: r.a.Secrets.Redact(command.Plain(failed)),
		})
		failures = append(failures, failure{one.Name, failed})
	}
	if !report.json {
		reportFailures(r.a, failures)
	}
	return err
}
