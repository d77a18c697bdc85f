package sink

import (
	"context"
	"fmt"

	"culvert/source"
)

// Provider is implemented by sinks that make what tables need before they are made.
type Provider interface {
	// Missing returns the statements of a schema with Needs of whose objects there are none. The error is a
	// [*DifferentError] if another object has the name of one. No table may be being filled.
	Missing(ctx context.Context, s *source.Schema, f Filling) ([]source.Statement, error)

	// Provide is Missing, and runs the statements in one transaction. They can call any function, so the schema must
	// come from a trusted source. If one fails, the error is a [*StatementsError], and nothing is made. Of the filling,
	// only LockTimeout and Redact are of use.
	Provide(ctx context.Context, s *source.Schema, f Filling) ([]source.Statement, error)
}

// ProviderOf returns a sink as one that makes what tables of a system need, and whether it is one.
func ProviderOf(dst Sink, system source.Dialect) (Provider, bool) {
	restorer, restores := dst.(Restorer)
	if !restores || !restorer.Restores(system) {
		return nil, false
	}
	provider, is := dst.(Provider)
	return provider, is
}

// DifferentError is the error of an object that tables need, of whose name there is another one.
type DifferentError struct {
	Object string // its kind and its name, such as "type public.mood"
	SQL    string // what makes the one that the tables need
	Found  string // what makes the one that is there, or "" if that cannot be printed
}

func (e *DifferentError) Error() string {
	return fmt.Sprintf("sink: the %s is there, but is another one than the tables need", e.Object)
}
