package load

import (
	"context"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/database"
	"culvert/cmd/culvert/internal/ui"
	"culvert/convert"
	"culvert/format/charset"
	"culvert/load"
	"culvert/source"
)

// conversions is the value of --convert: columns that may change values as DEST does, and rules, which have an equals
// sign. It is a [pflag.SliceValue], for job files.
type conversions struct{ columns, rules []string }

// Set adds columns, which commas separate, or a rule.
func (c *conversions) Set(text string) error {
	if strings.Contains(text, "=") {
		c.rules = append(c.rules, text)
		return nil
	}
	columns, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		return err
	}
	c.columns = append(c.columns, columns...)
	return nil
}

// Type implements [pflag.Value].
func (*conversions) Type() string { return "conversions" }

func (c *conversions) String() string { return strings.Join(c.GetSlice(), ",") }

// Append implements [pflag.SliceValue].
func (c *conversions) Append(text string) error { return c.Set(text) }

// Replace implements [pflag.SliceValue].
func (c *conversions) Replace(texts []string) error {
	*c = conversions{}
	for _, text := range texts {
		if err := c.Set(text); err != nil {
			return err
		}
	}
	return nil
}

// GetSlice returns what Set takes.
func (c *conversions) GetSlice() (texts []string) {
	for _, column := range c.columns {
		texts = append(texts, quoteComma(column))
	}
	return append(texts, c.rules...)
}

// parse returns the rules. The database that is filled evaluates their expressions.
func (c *conversions) parse(ctx context.Context, to database.Database) (all []convert.Conversion, err error) {
	parser := convert.Parser{
		Charset: charset.Decoder,
		SQL: func(expression string) (source.Kind, []byte, error) {
			kind, value, e := to.Evaluate(ctx, expression)
			err = e
			return kind, value, e
		},
	}
	for _, text := range c.rules {
		one, wrong := parser.ParseText(text)
		if err != nil {
			return nil, fmt.Errorf("--convert %s: %w", text, err)
		}
		if wrong != nil {
			return nil, command.WithHint(command.Usagef("--convert %s: %s", text,
				strings.TrimPrefix(wrong.Error(), "convert: ")), "see: culvert help conversions")
		}
		all = append(all, one)
	}
	return all, nil
}

// reportConversions says once that the rows of tables are not those that were read.
func reportConversions(w *command.Work, all []load.Stats) {
	var names []string
	for _, stats := range all {
		for _, column := range stats.Changed {
			if stats.Err == nil {
				names = append(names, stats.Name+"."+column)
			}
		}
	}
	const most = 10 // names that a person reads
	if len(names) == 0 || !w.WantsSummary() {
		return
	}
	slices.Sort(names)
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %s", ui.Several(int64(len(names)-most), "other column"))
		names = names[:most]
	}
	w.App.Console.Print(fmt.Sprintf("converted: %s%s; rows are counted and compared as they were sent, so their sum "+
		"is another than where they come from", strings.Join(names, ", "), more))
}
