package command

import (
	"context"

	"culvert/internal/ui"
	"culvert/source"
)

// WarnOmitted names what the list of all tables of a source leaves out.
func (a *App) WarnOmitted(ctx context.Context, src source.Source, schema string) error {
	omitted, err := source.Omitted(ctx, src, schema)
	for _, what := range omitted {
		a.Console.Warn("left out: " + ui.Line(what))
	}
	return err
}
