package wire

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"culvert/internal/lazyregexp"
)

// Exec runs a statement that returns no rows.
func (c *Conn) Exec(ctx context.Context, sql string) error {
	_, err := c.Affect(ctx, sql)
	return err
}

// Affect runs a statement that returns no rows, and returns the number of rows that it has changed.
func (c *Conn) Affect(ctx context.Context, sql string) (rows int64, err error) {
	err = Guarded(func() error {
		result, err := c.conn.ExecContext(ctx, sql, nil)
		if err == nil {
			rows, err = result.RowsAffected()
		}
		return err
	})
	return rows, err
}

// Prepare prepares a statement with the given number of parameters.
func (c *Conn) Prepare(ctx context.Context, sql string, parameters int) (statement driver.Stmt, err error) {
	err = Guarded(func() error {
		statement, err = c.conn.PrepareContext(ctx, sql)
		return err
	})
	if err != nil {
		return nil, err
	}
	if has := statement.NumInput(); has != parameters {
		return nil, errors.Join(fmt.Errorf("the statement has %d parameters", has), Guarded(statement.Close))
	}
	return statement, nil
}

// prepared runs a statement in the binary protocol. The rows must be closed before the statement.
func (c *Conn) prepared(
	ctx context.Context, sql string, parameters ...string,
) (statement driver.Stmt, found driver.Rows, err error) {
	statement, err = c.Prepare(ctx, sql, len(parameters))
	if err != nil {
		return nil, nil, err
	}
	err = Guarded(func() error {
		found, err = statement.(driver.StmtQueryContext).QueryContext(ctx, named(parameters))
		return err
	})
	if err != nil {
		return nil, nil, errors.Join(err, Guarded(statement.Close))
	}
	return statement, found, nil
}

// Text runs a statement in the text protocol, in one round trip. It prints fewer digits of a FLOAT than that has.
func (c *Conn) Text(ctx context.Context, sql string) (found driver.Rows, err error) {
	err = Guarded(func() error {
		found, err = c.conn.QueryContext(ctx, sql, nil)
		return err
	})
	return found, err
}

func named(parameters []string) []driver.NamedValue {
	values := make([]driver.NamedValue, len(parameters))
	for i, parameter := range parameters {
		values[i] = driver.NamedValue{Ordinal: i + 1, Value: parameter}
	}
	return values
}

// Run runs a statement with parameters that returns no rows.
func (c *Conn) Run(ctx context.Context, sql string, parameters ...string) error {
	statement, err := c.Prepare(ctx, sql, len(parameters))
	if err != nil {
		return err
	}
	err = Guarded(func() error {
		_, err := statement.(driver.StmtExecContext).ExecContext(ctx, named(parameters))
		return err
	})
	return errors.Join(err, Guarded(statement.Close))
}

// AnyColumns is for a statement with an unknown number of columns.
const AnyColumns = -1

// inText writes parameters into a statement, if each is one word: then it takes one round trip in place of three.
func inText(sql string, parameters []string) (string, []string) {
	isOther := func(text string) bool { return !word.MatchString(text) }
	if strings.Count(sql, "?") != len(parameters) || slices.ContainsFunc(parameters, isOther) {
		return sql, parameters
	}
	var b strings.Builder
	for _, parameter := range parameters {
		before, after, _ := strings.Cut(sql, "?")
		b.WriteString(before + "'" + parameter + "'")
		sql = after
	}
	return b.String() + sql, nil
}

// word matches what needs no escapes in any character set and SQL mode.
var word = lazyregexp.New(`^[A-Za-z0-9_]*$`)

// Query runs a statement and returns its rows, with NULL as "". They must have that many columns.
func (c *Conn) Query(
	ctx context.Context, columns int, sql string, parameters ...string,
) (all [][]string, err error) {
	var found driver.Rows
	sql, parameters = inText(sql, parameters)
	if len(parameters) == 0 {
		found, err = c.Text(ctx, sql)
	} else {
		var statement driver.Stmt
		if statement, found, err = c.prepared(ctx, sql, parameters...); err == nil {
			defer func() { err = errors.Join(err, Guarded(statement.Close)) }()
		}
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, Guarded(found.Close)) }()
	return readAll(found, columns)
}

// NextResult returns the rows of the next result of a text that has several statements.
func NextResult(rows driver.Rows, columns int) ([][]string, error) {
	err := Guarded(rows.(driver.RowsNextResultSet).NextResultSet)
	if err == io.EOF {
		err = ErrAnswer
	}
	if err != nil {
		return nil, err
	}
	return readAll(rows, columns)
}

func readAll(found driver.Rows, columns int) (all [][]string, err error) {
	values := make([]driver.Value, len(found.Columns()))
	if columns != AnyColumns && len(values) != columns {
		return nil, ErrAnswer
	}
	for {
		if err := Guarded(func() error { return found.Next(values) }); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		row := make([]string, len(values))
		for i, value := range values {
			switch value := value.(type) {
			case nil:
			case []byte:
				row[i] = string(value)
			default:
				row[i] = fmt.Sprint(value)
			}
		}
		all = append(all, row)
	}
}

// identify asks the server what it is.
func (c *Conn) identify(ctx context.Context) (err error) {
	if c.started, err = c.serverStart(ctx); err != nil {
		return err
	}
	found, err := c.Query(ctx, 5,
		"SELECT CONNECTION_ID(), VERSION(), @@lower_case_table_names, DATABASE(), "+whichServer)
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return ErrAnswer
	}
	if c.ID, err = strconv.ParseInt(found[0][0], 10, 64); err != nil {
		return ErrAnswer
	}
	c.Version = found[0][1]
	c.IsMariaDB = strings.Contains(strings.ToUpper(c.Version), "MARIADB")
	c.FoldCase = found[0][2] != "0"
	c.Database, c.Server = found[0][3], found[0][4]
	return nil
}
