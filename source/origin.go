package source

import "context"

// Tracer is implemented by sources that know which columns a view shows unchanged. In SQLite, the table with the
// content of an FTS3 or FTS4 table shows the columns of that.
type Tracer interface {
	// Origins returns, by the name of a column of the view, the columns that it shows unchanged. The first one is a
	// column of a table or a view that the view reads. If it is one of a view, the column that this view shows follows,
	// and so on. A column that is computed, or made of several columns, has no origins. No rows may be open. The error
	// is an [*UnknownError] if there is no such view.
	Origins(ctx context.Context, view string) (map[string][]Origin, error)
}

// Origin is a column that a column of a view shows unchanged.
type Origin struct {
	ColumnName

	IsView bool // whether it is a column of another view; the next Origin, if any, is what that view shows
}

// Origins returns the origins of the columns of a view, or nil if the source is not a [Tracer].
func Origins(ctx context.Context, s Source, view string) (map[string][]Origin, error) {
	tracer, is := s.(Tracer)
	if !is {
		return nil, nil
	}
	return tracer.Origins(ctx, view)
}
