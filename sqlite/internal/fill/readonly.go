package fill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"culvert/sink"
)

// mayWrite returns a [sink.ErrReadOnly] if the file could be opened, but SQLite cannot make its journal beside it.
func (db *DB) mayWrite(ctx context.Context) error {
	found, err := db.textRows(ctx, "PRAGMA main.journal_mode")
	if err != nil {
		return err
	}
	if found[0][0] != "delete" { // the others of a file, such as wal, have what they need, or cannot be opened
		return nil
	}
	path := db.path
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	if dir := filepath.Dir(path); errors.Is(permitted(dir), os.ErrPermission) {
		return fmt.Errorf("sqlite: %s: %w: no journal can be made in the directory %s", db.path, sink.ErrReadOnly, dir)
	}
	return nil
}
