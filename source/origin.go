package source

import "context"

// Tracer is implemented by sources that know from which columns the values of a view are.
type Tracer interface {
	// Origins returns the columns that the columns of a view are, as they are, by their names: each column of a view
	// or a table that the view reads, then the one that this is, and so on. A column that is computed, or of several
	// columns, has none. No rows may be open. The error is an [*UnknownError] if there is no such view.
	Origins(ctx context.Context, view string) (map[string][]Origin, error)
}

// Origin is a column that a column of a view is, as it is.
type Origin struct {
	ColumnName

	IsView bool // it is a column of another view, of which the next Origin is the origin, if there is one
}

// Origins returns the origins of the columns of a view, or nil if the source is not a [Tracer].
func Origins(ctx context.Context, s Source, view string) (map[string][]Origin, error) {
	tracer, is := s.(Tracer)
	if !is {
		return nil, nil
	}
	return tracer.Origins(ctx, view)
}
