package database

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"culvert/cmd/culvert/internal/command"
	"culvert/pace"
	"culvert/source"
)

// PaceFlags say how fast rows may move.
type PaceFlags struct {
	limit   *pace.Limit
	maxLoad string
}

// Add adds the flags. The argument of the command that names the database which is asked is SOURCE or DEST.
func (f *PaceFlags) Add(flags *pflag.FlagSet, argument string) {
	flags.Var((*rateFlag)(f), "rate", "move at most `RATE`, such as 50MB/s of text or 10000rows/s")
	flags.Var((*command.NotEmpty)(&f.maxLoad), "max-load",
		"wait while the statement `SQL`, asked of "+argument+" each second, says true")
}

// Pace returns what the flags say of a database.
func (f *PaceFlags) Pace(d Database) (pace.Pace, error) {
	p := pace.Pace{Limit: f.limit}
	if f.maxLoad == "" {
		return p, nil
	}
	if d.Engine == "sqlite" {
		return p, command.Usagef("--max-load is for servers; SQLite has none that could be busy")
	}
	answered := false
	p.Load = pace.NewLoad(func(ctx context.Context) (bool, error) {
		is, err := d.says(ctx, f.maxLoad)
		if answered && ctx.Err() == nil && errors.Is(err, source.ErrUnavailable) {
			return true, nil // a server under load may refuse another session
		}
		answered = err == nil
		return is, err
	})
	return p, nil
}

// says reports whether the only value of a statement is true: not NULL, false or 0. Each time, it is asked by a
// session of its own, since what a server counts stays the same within a transaction.
func (d Database) says(ctx context.Context, sql string) (is bool, err error) {
	var batch source.Batch
	switch err := d.ask(ctx, sql, &batch); {
	case err != nil:
		return false, err
	case batch.Rows() != 1 || batch.Columns() != 1:
		return false, fmt.Errorf("--max-load: the statement must return one row with one column, such as %s",
			"SELECT count(*) > 20 FROM pg_stat_activity WHERE state = 'active'")
	}
	_, value := batch.AnyValue(0, 0)
	return isTrue(string(value))
}

// isTrue reports whether the text of a value is true. NULL is the empty text.
func isTrue(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "", "f", "false", "n", "no", "off":
		return false, nil
	case "t", "true", "y", "yes", "on":
		return true, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return false, fmt.Errorf("--max-load: the statement must return true, false or a number, and not %q", text)
	}
	return n != 0, nil
}

// rateFlag is the value of --rate.
type rateFlag PaceFlags

// Set implements [pflag.Value].
func (f *rateFlag) Set(text string) (err error) {
	if f.limit, err = pace.Parse(text); err != nil {
		err = errors.New(strings.TrimPrefix(err.Error(), "pace: "))
	}
	return err
}

func (f *rateFlag) String() string { return f.limit.String() }

// Type implements [pflag.Value].
func (*rateFlag) Type() string { return "rate" }

// Paced adds what limits rows now, if anything does, to the name of what progress shows.
func Paced(name string, p pace.Pace) string {
	if state := p.State(); state != "" {
		return name + ", " + state
	}
	return name
}
