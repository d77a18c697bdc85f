// Package masks is the verb mask: rules for columns that look like personal data, and what rules make of values.
package masks

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/masking"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/mask"
	"culvert/source"
)

// New returns culvert mask.
func New(a *command.App) *cobra.Command {
	cmd := help.Command("mask")
	cmd.Args = command.UnknownVerb
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(newSuggest(a), newPreview(a))
	return cmd
}

// SuggestReport is the report of culvert mask suggest.
type SuggestReport struct {
	command.Outcome
	Rules   []suggestion `json:"rules"`
	Problem string       `json:"problem,omitempty"`
}

type suggestion struct {
	Table   string `json:"table"`
	Column  string `json:"column"`
	Pattern string `json:"pattern"`
	Rule    string `json:"rule"`
	Reason  string `json:"reason"`
}

// Text implements [command.Report]. It is a section of a job file.
func (r *SuggestReport) Text() string {
	var b strings.Builder
	b.WriteString("mask:\n")
	for _, one := range r.Rules {
		fmt.Fprintf(&b, "  %s: %s  # %s\n", strconv.Quote(one.Pattern), one.Rule, ui.Line(one.Reason))
	}
	if len(r.Rules) == 0 {
		return "# no column looks like personal data\n"
	}
	if r.Problem != "" {
		fmt.Fprintf(&b, "# to be mended: %s\n", ui.Line(r.Problem))
	}
	return b.String()
}

func newSuggest(a *command.App) *cobra.Command {
	from, r := &database.Flags{}, &SuggestReport{Rules: []suggestion{}}
	cmd := a.Reporting("mask-suggest", r, func(ctx context.Context, args []string) error {
		return look(ctx, a, from, args, func(src source.Source, tables []mask.Table) error {
			return r.suggest(ctx, src, tables)
		})
	})
	from.Add(cmd)
	return cmd
}

// look opens a database, and looks up the tables that are named, or all.
func look(
	ctx context.Context, a *command.App, from *database.Flags, args []string,
	use func(source.Source, []mask.Table) error,
) (err error) {
	db, names, err := from.Parse(a, args)
	if err != nil {
		return err
	}
	src, err := db.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if len(names) == 0 {
		lister, is := src.(source.Lister)
		if !is {
			return command.Usagef("this source cannot list its tables: name them")
		}
		if names, err = lister.Tables(ctx, ""); err != nil {
			return db.Explain(err)
		}
	}
	tables, err := new(export.Plan).MaskTables(ctx, src, names)
	if err == nil {
		err = use(src, tables)
	}
	return db.Explain(err)
}

func (r *SuggestReport) suggest(ctx context.Context, src source.Source, tables []mask.Table) error {
	suspects, err := masking.Suspects(ctx, src, tables, nil)
	if err != nil {
		return err
	}
	policy := &mask.Policy{Key: mask.GenerateKey(), Tables: map[string]mask.Rules{}}
	for _, s := range suspects {
		rule := masking.Fit(s.Table, s.Column, s.Rule)
		r.Rules = append(r.Rules, suggestion{
			Table: s.Table.Name, Column: s.Column, Pattern: masking.PatternOf(s.Table, s.Column), Rule: rule.String(),
			Reason: s.Reason,
		})
		if policy.Tables[s.Table.Name] == nil {
			policy.Tables[s.Table.Name] = mask.Rules{}
		}
		policy.Tables[s.Table.Name][s.Column] = rule
	}
	if _, err := policy.Check(masking.WithoutDropped(policy, tables)); err != nil {
		r.Problem = command.Plain(err)
	}
	return nil
}
