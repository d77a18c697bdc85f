package read

import (
	"context"
	"errors"

	"culvert/internal/sqlsource"
	"culvert/mysql/internal/wire"
)

var errClosed = errors.New("mysql: the rows are closed")

// failed explains an error of what was being done. If the context has ended, it also ends the statement on the server.
// It returns nil for nil.
func (s *session) failed(ctx context.Context, doing string, err error) error {
	err = s.Explain(ctx, doing, err)
	if lost, ok := errors.AsType[*wire.LostError](err); ok {
		return sqlsource.Unavailable(lost.Error(), lost.Err)
	}
	return err
}
