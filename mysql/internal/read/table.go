package read

import (
	"context"
	"errors"

	"culvert/internal/sqlsource"
	"culvert/mysql/internal/catalog"
	"culvert/source"
)

// table is an existing table or view, or a part of one.
type table struct {
	catalog.Table
	source.Selection
}

// findTable finds the table that a name stands for.
func (s *session) findTable(ctx context.Context, name string) (table, error) {
	if f := s.names[name]; f != nil {
		return table{Table: f.Table}, nil
	}
	found, err := catalog.Find(ctx, s.Conn, name)
	if _, unknown := errors.AsType[*source.UnknownError](err); unknown {
		return table{}, err
	}
	return table{Table: found}, s.Explain(ctx, "looking for the table", err)
}

// columns returns the columns of a table.
func (s *session) columns(ctx context.Context, t table) ([]sqlsource.Column, error) {
	if f := s.known(t.Table); f != nil {
		return f.columns, nil
	}
	found, err := catalog.Columns(ctx, s.Conn, t.Table)
	if err != nil {
		return nil, s.Explain(ctx, t.String(), err)
	}
	var columns []sqlsource.Column
	for _, c := range found {
		columns = append(columns, sqlsource.Column{
			Column: c.Column, JSON: c.JSON, Generated: c.Generated, Charset: c.Charset,
		})
	}
	return columns, nil
}
