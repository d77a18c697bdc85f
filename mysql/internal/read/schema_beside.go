package read

import (
	"context"
	"maps"

	"culvert/source"
)

var _ source.SchemaStarter = (*DB)(nil)

// StartSchema begins what Schema does, over a connection that has begun together with this one. Others can read with it
// again when that has ended. If there is none, or it does not get an answer, such as since others wait to change
// something, the schema is read in the end.
func (db *DB) StartSchema(ctx context.Context, config source.SchemaConfig) (
	ownRows bool, finish func(context.Context) (*source.Schema, error), err error,
) {
	if err := db.begin(ctx); err != nil {
		return false, nil, err
	}
	var schema *source.Schema
	if taken, _ := db.group.take(1); len(taken) > 0 {
		reading, cancel := context.WithCancel(ctx)
		db.ends = append(db.ends, cancel)
		one := &DB{session: taken[0], group: db.group, first: db.session}
		one.session.sqlMode, one.session.listed = db.session.sqlMode, maps.Clone(db.session.listed)
		db.group.started.Go(func() {
			schema, _ = one.Schema(reading, config)
			_ = one.Close() // always nil
		})
	}
	return false, func(ctx context.Context) (*source.Schema, error) {
		if err := db.begin(ctx); err != nil {
			return nil, err
		}
		db.group.started.Wait()
		if schema == nil {
			return db.Schema(ctx, config)
		}
		return schema, nil
	}, nil
}
