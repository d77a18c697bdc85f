package postgres

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/source"
)

// Error codes of the server (errcodes.txt in its sources).
const (
	codeSyntaxError           = "42601"
	codeIndeterminateDatatype = "42P18"
	codeInvalidParameterValue = "22023"
)

// prepareQuery has the server describe a statement of the user, and refuses one that cannot be run as a source of rows.
func (s *session) prepareQuery(ctx context.Context, sql string) (*pgconn.StatementDescription, error) {
	description, err := s.prepare(ctx, sql)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case refused.Code == codeSyntaxError && refused.Routine == "exec_parse_message":
			return nil, errors.New("postgres: query: more than one statement")
		case refused.Code == codeIndeterminateDatatype:
			return nil, errParameters
		}
	}
	if err != nil {
		return nil, s.failedAt(ctx, "query", err)
	}
	if len(description.ParamOIDs) > 0 {
		return nil, errParameters
	}
	if description.Fields == nil {
		return nil, errors.New("postgres: query: the statement gives no rows")
	}
	return description, nil
}

var errParameters = errors.New("postgres: query: the statement has parameters ($1), for which there are no values")

// describe gives the columns of a prepared statement.
func (s *session) describe(ctx context.Context, fields []pgconn.FieldDescription) ([]source.Column, error) {
	var types, modifiers []string
	for _, field := range fields {
		types = append(types, strconv.FormatUint(uint64(field.DataTypeOID), 10))
		modifiers = append(modifiers, strconv.FormatInt(int64(field.TypeModifier), 10))
	}
	found, err := s.query(ctx, 1, `
SELECT pg_catalog.format_type(type, modifier)
FROM unnest($1::oid[], $2::int4[]) WITH ORDINALITY AS u(type, modifier, place) ORDER BY place`,
		"{"+strings.Join(types, ",")+"}", "{"+strings.Join(modifiers, ",")+"}")
	if err != nil {
		return nil, s.failed(ctx, "query", err)
	}
	if len(found) != len(fields) {
		return nil, s.failed(ctx, "query", errAnswer)
	}
	columns := make([]source.Column, len(fields))
	for i, field := range fields {
		columns[i] = source.Column{Name: field.Name, Type: string(found[i][0])}
	}
	return columns, nil
}

// copyQuery gives the statement that prints the rows of a query as CSV, or "" if COPY does not take it. The query must
// have been prepared as it is: then it holds no parenthesis or comment that could end the COPY before its end.
func (s *session) copyQuery(ctx context.Context, sql string) (string, error) {
	sql = copySQL(strings.TrimRight(sql, "; \t\r\n"))
	_, err := s.prepare(ctx, sql)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == codeSyntaxError {
		return "", s.recover(ctx)
	}
	return sql, s.failed(ctx, "query", err)
}

// copySQL is the statement that prints the rows of another as CSV. That may end in a comment.
func copySQL(sql string) string { return "COPY (\n" + sql + "\n) TO STDOUT (FORMAT csv)" }
