package read

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5/pgconn"

	"culvert/source"
)

// Error codes of the server (errcodes.txt in the sources).
const (
	codeSyntaxError           = "42601"
	codeLockNotAvailable      = "55P03"
	codeQueryCanceled         = "57014"
	codeOutOfMemory           = "53200"
	codeTooManyConnections    = "53300"
	codeFeatureNotSupported   = "0A000"
	codeIndeterminateDatatype = "42P18"
	codeInvalidParameterValue = "22023"
	codeInsufficientPrivilege = "42501"
)

// prepareQuery has the server describe a statement of the user. It refuses statements that cannot return rows.
func (s *session) prepareQuery(ctx context.Context, sql string) (*pgconn.StatementDescription, error) {
	description, err := s.prepare(ctx, sql)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch {
		case isSeveral(refused):
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
		return nil, errors.New("postgres: query: the statement returns no rows")
	}
	return description, nil
}

// isSeveral reports whether the server has refused to prepare several statements at once.
func isSeveral(refused *pgconn.PgError) bool {
	return refused.Code == codeSyntaxError && refused.Routine == "exec_parse_message"
}

var errParameters = errors.New("postgres: query: the statement has parameters, such as $1, but no values for them")

// typeID is a type with its modifier, such as the precision of a numeric.
type typeID struct {
	oid      uint32
	modifier int32
}

func typeOf(field pgconn.FieldDescription) typeID {
	return typeID{field.DataTypeOID, field.TypeModifier}
}

// describe returns the columns of a prepared statement.
func (s *session) describe(ctx context.Context, fields []pgconn.FieldDescription) ([]source.Column, error) {
	if err := s.nameTypes(ctx, fields); err != nil {
		return nil, s.failed(ctx, "query", err)
	}
	columns := make([]source.Column, len(fields))
	for i, field := range fields {
		columns[i] = s.types[typeOf(field)]
		columns[i].Name = field.Name
	}
	return columns, nil
}

// nameTypes asks the server for the names of types that are not yet known. A type that is renamed keeps its old name.
func (s *session) nameTypes(ctx context.Context, fields []pgconn.FieldDescription) error {
	var unknown []typeID
	var types, modifiers []string
	for _, field := range fields {
		id := typeOf(field)
		if _, known := s.types[id]; known || slices.Contains(unknown, id) {
			continue
		}
		unknown = append(unknown, id)
		types = append(types, strconv.FormatUint(uint64(id.oid), 10))
		modifiers = append(modifiers, strconv.FormatInt(int64(id.modifier), 10))
	}
	if len(unknown) == 0 {
		return nil
	}
	found, err := s.query(ctx, 2, `
SELECT pg_catalog.format_type(type, modifier), `+madeOf("type", "modifier")+`
FROM unnest($1::oid[], $2::int4[]) WITH ORDINALITY AS u(type, modifier, place) ORDER BY place`,
		"{"+strings.Join(types, ",")+"}", "{"+strings.Join(modifiers, ",")+"}")
	if err != nil {
		return err
	}
	if len(found) != len(unknown) {
		return errAnswer
	}
	for i, id := range unknown {
		s.types[id] = typed("", found[i][0], found[i][1])
	}
	return nil
}

// copies reports whether COPY accepts a query. The query must have been prepared as it is, so that no parenthesis or
// comment in it can end the COPY early.
func (s *session) copies(ctx context.Context, sql string) (bool, error) {
	sql = withoutEnd(sql)
	if isSelect(sql) {
		return true, nil
	}
	_, err := s.prepare(ctx, copySQL(sql)+" TO STDOUT")
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == codeSyntaxError {
		return false, s.recover(ctx)
	}
	return err == nil, s.failed(ctx, "query", err)
}

// isSelect reports whether a valid statement is obviously a SELECT. The server decides about statements that begin with
// a comment, or contain a semicolon, which a comment may follow.
func isSelect(sql string) bool {
	start := strings.TrimLeft(sql, " \t\r\n(")
	end := strings.IndexFunc(start, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 || strings.Contains(sql, ";") {
		return false
	}
	return slices.ContainsFunc([]string{"SELECT", "TABLE", "VALUES", "WITH"}, func(word string) bool {
		return strings.EqualFold(start[:end], word)
	})
}

// withoutEnd removes trailing semicolons and white space.
func withoutEnd(sql string) string { return strings.TrimRight(sql, "; \t\r\n") }

// copySQL returns the begin of the statement that prints the rows of another one, which may end in a comment.
func copySQL(sql string) string { return "COPY (\n" + sql + "\n)" }
