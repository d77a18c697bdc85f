package jobs

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/export"
	"culvert/format"
	"culvert/format/arrow"
	"culvert/format/parquet"
)

// Layout says how rows are written, in the words of the command line.
type Layout struct {
	Format      string `json:"format"`
	CSV         string `json:"csv,omitempty"` // the settings of a dialect
	Line        string `json:"line,omitempty"`
	InvalidUTF8 string `json:"invalid_utf8"`
	Compression string `json:"compression"`
	Lossy       string `json:"lossy,omitempty"`

	Bloom    []string         `json:"bloom,omitempty"` // columns
	RowGroup command.ByteSize `json:"row_group,omitempty"`
}

var (
	formats             = []string{"csv", "jsonl", "text", "parquet", "arrow", "arrows"}
	compressions        = []string{export.Zstd.String(), export.Gzip.String(), export.None.String()}
	invalidUTF8Policies = map[string]format.InvalidUTF8{
		"error":   format.ErrorOnInvalid,
		"replace": format.ReplaceInvalid,
		"base64":  format.Base64Invalid,
	}
)

// Add adds the flags to a command.
func (l *Layout) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&l.Format, "format", "f", "csv", "write `FORMAT`: csv, jsonl, text, parquet, arrow or arrows")
	flags.StringVar(&l.CSV, "csv", "", "write CSV for other programs, as `SETTINGS` say, such as for=excel")
	flags.StringVar(&l.Line, "line", "", "with -f text, write each row as `TEMPLATE` (default: all columns)")
	flags.StringVar(&l.InvalidUTF8, "invalid-utf8", "error",
		"with -f jsonl, treat text that is not UTF-8 by `POLICY`: error, replace or base64")
	flags.StringVarP(&l.Compression, "compress", "c", "zstd",
		"compress with `CODEC`: zstd, gzip or none; parquet and arrow do it inside")
	flags.StringVar(&l.Lossy, "lossy", "",
		"with -f parquet or arrow, write values that do not fit their type as `WAY`: null or string")
	flags.StringSliceVar(&l.Bloom, "bloom", nil,
		"with -f parquet, write bloom filters of `COLUMNS`, for lookups: a,b,c")
	flags.Var(&l.RowGroup, "row-group", "with -f parquet, write row groups of about `SIZE` (default 128MiB)")
	for flag, values := range map[string][]string{
		"lossy":  slices.Sorted(maps.Keys(format.LossyNames)),
		"format": formats, "compress": compressions, "invalid-utf8": slices.Sorted(maps.Keys(invalidUTF8Policies)),
	} {
		completion := cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
		if err := cmd.RegisterFlagCompletionFunc(flag, completion); err != nil {
			panic(err) // there is no such flag
		}
	}
}

// isArrow reports whether a format is the file or the stream of Arrow, which -c compresses inside.
func isArrow(format string) bool { return format == "arrow" || format == "arrows" }

// Settle sets what follows from the format if no flag is given: Parquet compresses by itself.
func (l *Layout) Settle(given func(flag string) bool) {
	if l.Format == "parquet" && !given("compress") {
		l.Compression = export.None.String()
	}
}

// Apply makes a plan write rows so, of several tables or of one. The error is one of usage.
func (l *Layout) Apply(plan *export.Plan, several bool) (err error) {
	if plan.Compression, err = export.ParseCompression(l.Compression); err != nil {
		return badValue("--compress", l.Compression, compressions)
	}
	switch {
	case l.CSV != "" && l.Format != "csv":
		return command.Usagef("--csv is for CSV, and cannot be combined with -f %s", l.Format)
	case l.Line != "" && l.Format != "text":
		return command.WithHint(command.Usagef("--line is the template of -f text, not of -f %s", l.Format),
			"add: -f text")
	case l.InvalidUTF8 != "error" && l.Format != "jsonl":
		return command.Usagef("--invalid-utf8 is only for -f jsonl: other formats keep all bytes")
	case len(l.Bloom) > 0 && l.Format != "parquet":
		return command.WithHint(command.Usagef("--bloom is for Parquet, and cannot be combined with -f %s", l.Format),
			"add: -f parquet")
	case l.RowGroup > 0 && l.Format != "parquet":
		err := command.Usagef("--row-group is for Parquet, and cannot be combined with -f %s", l.Format)
		return command.WithHint(err, "add: -f parquet")
	case l.RowGroup > parquet.MaxRowGroup:
		return command.Usagef("--row-group is 4GiB at most")
	case l.Format == "parquet" && plan.Compression != export.None:
		return command.WithHint(command.Usagef("-f parquet compresses by itself, so -c cannot be %s", l.Compression),
			"leave out -c, and .zst or .gz in the name")
	case isArrow(l.Format) && plan.Compression == export.Gzip:
		return command.WithHint(command.Usagef("-f %s is compressed inside, with zstd or not at all", l.Format),
			"leave out -c, or say: -c none")
	}
	switch l.Format {
	case "csv":
		plan.Format = format.CSV{}
		if l.CSV != "" {
			plan.Format, err = l.dialect()
		}
	case "jsonl":
		policy, found := invalidUTF8Policies[l.InvalidUTF8]
		if !found {
			return badValue("--invalid-utf8", l.InvalidUTF8, slices.Sorted(maps.Keys(invalidUTF8Policies)))
		}
		plan.Format = format.JSONL{InvalidUTF8: policy}
	case "text":
		plan.Format = format.Text{Line: l.Line}
	case "parquet":
		plan.Format = parquet.Format{Bloom: l.Bloom, BloomOptional: several, RowGroup: int64(l.RowGroup)}
	case "arrow", "arrows":
		plan.Format = arrow.Format{Stream: l.Format == "arrows", Uncompressed: plan.Compression == export.None}
		plan.Compression = export.None
	default:
		return badValue("--format", l.Format, formats)
	}
	return errors.Join(err, l.applyLossy(plan))
}

// applyLossy sets how values that do not fit are written.
func (l *Layout) applyLossy(plan *export.Plan) error {
	if l.Lossy == "" {
		return nil
	}
	if _, is := plan.Format.(format.Fitting); !is && plan.Format != nil {
		return command.Usagef("--lossy is for -f parquet, arrow and arrows: every value fits %s", l.Format)
	}
	var known bool
	if plan.Lossy, known = format.LossyNames[l.Lossy]; !known {
		return badValue("--lossy", l.Lossy, slices.Sorted(maps.Keys(format.LossyNames)))
	}
	return nil
}

// dialect returns what --csv says.
func (l *Layout) dialect() (format.Dialect, error) {
	d, encoding, err := format.ParseDialect(l.CSV)
	switch {
	case err == nil && encoding != "":
		err = fmt.Errorf("an export is UTF-8, and not %s", encoding)
	case err == nil:
		_, err = d.Encoder(nil)
	}
	if err != nil {
		reason := strings.TrimPrefix(command.Plain(err), "csv: ")
		return d, command.WithHint(command.Usagef("--csv: %s", reason), "see: culvert help csv")
	}
	return d, nil
}

// badValue explains a value of a flag that has only some.
func badValue(flag, value string, known []string) error {
	hint := fmt.Sprintf("%s is one of: %s", flag, strings.Join(known, ", "))
	if near := ui.Nearest(value, known); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return command.WithHint(command.Usagef("%s cannot be %q", flag, value), hint)
}
