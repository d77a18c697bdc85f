package export

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/jobfile"
	"culvert/internal/tablechoice"
	"culvert/source"
)

// applyJob sets what the job file says and the command line does not, and returns the arguments with its SOURCE.
func (o *options) applyJob(cmd *cobra.Command, args []string) ([]string, error) {
	file, err := o.choice.File(cmd)
	if err != nil || file == nil {
		return args, err
	}
	o.masks.Compare(file.ColumnsFile(o.choice.Name()), o.choice.Name())
	if args, err = file.Source(cmd, args); err != nil {
		return args, err
	}
	named := len(args)
	if o.from.File == "" {
		named--
	}
	o.all = o.all || o.query == "" && named <= 0 && len(o.schemas) == 0
	if file.To != "" && o.output == "" {
		o.job = file
	}
	return args, nil
}

// expandOutput sets the output to that of the job file, if there is no other.
func (e *request) expandOutput(ctx context.Context) (err error) {
	o := e.options
	if o.job == nil {
		return nil
	}
	o.output, err = o.job.Expand(o.choice.Name(), time.Now(), func() (_ string, err error) {
		src, err := o.openOne(ctx, e.db)
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, src.Close()) }()
		return nameOfDatabase(ctx, src)
	})
	o.job = nil
	return err
}

// nameOfDatabase returns the name of a database, or of its file without the directory and the extension; or "".
func nameOfDatabase(ctx context.Context, src source.Source) (string, error) {
	description, err := source.Describe(ctx, src)
	if err != nil || description.Database == "" {
		return "", err
	}
	base := filepath.Base(description.Database)
	return strings.TrimSuffix(base, filepath.Ext(base)), nil
}

// choose finds out which tables are meant by the rules, if any are given, and what of them. It is done once.
func (e *request) choose(ctx context.Context, src source.Source, a *command.App) error {
	if !e.options.choice.Given() || e.chosen != nil {
		return nil
	}
	chosen, err := e.chosenOf(ctx, src)
	if err != nil {
		return err
	}
	for _, pattern := range chosen.Unmatched {
		if !e.options.JSON {
			a.Console.Warn(fmt.Sprintf("no table matches %q", pattern))
		}
	}
	for _, one := range chosen.Hidden {
		if !e.options.JSON {
			a.Console.Warn(one)
		}
	}
	e.chosen, e.plan.Choices = chosen, chosen.Choices
	return nil
}

// chosenOf returns what the rules mean of a source.
func (e *request) chosenOf(ctx context.Context, src source.Source) (*tablechoice.Result, error) {
	rules, err := e.options.choice.Rules()
	if err != nil {
		return nil, err
	}
	names, err := e.options.tableNames(ctx, src, e.names)
	if err != nil {
		return nil, err
	}
	chosen, err := rules.Choose(ctx, src, names)
	if err == nil && len(chosen.Names) == 0 {
		err = command.WithHint(errors.New("no table is left to export"), "see which there are: culvert export "+
			"SOURCE --all --dry-run")
	}
	return chosen, jobfile.Explain(err)
}

// meantNames returns the tables that are meant. After [source.Separate] there may be others than those of which the
// schema was read, to which the rules apply too.
func (e *request) meantNames(ctx context.Context, src source.Source) ([]string, error) {
	if e.chosen == nil {
		return e.options.tableNames(ctx, src, e.names)
	}
	if e.plan.Schema == nil || !e.plan.Schema.OwnRows {
		return e.chosen.Names, nil
	}
	chosen, err := e.chosenOf(ctx, src)
	if err != nil {
		return nil, err
	}
	e.chosen, e.plan.Choices = chosen, chosen.Choices
	return chosen.Names, nil
}

// schemaConfig says what belongs to the schema.
func (e *request) schemaConfig() source.SchemaConfig {
	config := e.options.config()
	if e.chosen != nil {
		config.Without, config.WithoutKeys = e.chosen.Without()
	}
	return config
}

// omitted returns what the tables leave out, with the foreign keys that they leave out.
func (e *request) omitted(ctx context.Context, src source.Source) ([]string, error) {
	omitted, err := e.options.omitted(ctx, src)
	return e.leftOut(omitted), err
}

// leftOut adds the foreign keys that are left out.
func (e *request) leftOut(omitted []string) []string {
	if e.chosen == nil {
		return omitted
	}
	return append(slices.Clip(omitted), e.chosen.LeftOut...)
}

// tableNames returns the tables of which rows are exported, with those that the schema has beside the others.
func (e *request) tableNames(ctx context.Context, src source.Source) ([]string, error) {
	names, err := e.meantNames(ctx, src)
	if s := e.plan.Schema; s != nil && len(s.Staged) > 0 && (err == nil || errors.Is(err, database.ErrNoTables)) {
		for _, one := range s.Staged {
			names = append(names, one.Table)
		}
		return names, nil
	}
	return names, err
}
