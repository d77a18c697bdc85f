package jobfile

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"culvert/cmd/culvert/internal/ui"
)

// Flags are what a job file says in the words of flags. The flags of the command line override it.
type Flags struct {
	Recipients        []string `yaml:"recipients" flag:"recipient" doc:"Encrypt to these public keys."`
	RecipientsFiles   []string `yaml:"recipients-files" flag:"recipients-file" doc:"Encrypt to those in these files."`
	Identities        []string `yaml:"identities" flag:"identity" doc:"Decrypt with the identities in these files."`
	PassphraseFile    string   `yaml:"passphrase-file" flag:"passphrase-file" doc:"Read the passphrase from this file."`
	PassphraseCommand string   `yaml:"passphrase-command" flag:"passphrase-command" doc:"Read the passphrase from it."`
	NoEncrypt         bool     `yaml:"no-encrypt" flag:"no-encrypt" doc:"Do not encrypt."`

	Schemas    []string `yaml:"schemas" flag:"schema" doc:"The schemas of the tables; without it, all."`
	SchemaOnly bool     `yaml:"schema-only" flag:"schema-only" doc:"Only what makes the database, without rows."`
	DataOnly   bool     `yaml:"data-only" flag:"data-only" doc:"Only the rows, and what makes their tables."`
	Grants     bool     `yaml:"grants" flag:"grants" doc:"Also who owns what, and who may do what."`

	Format      string   `yaml:"format" flag:"format" doc:"Of files." enum:"csv jsonl text parquet arrow arrows tsv"`
	CSV         string   `yaml:"csv" flag:"csv" doc:"How CSV of another program is written: see culvert help csv."`
	InvalidUTF8 string   `yaml:"invalid-utf8" flag:"invalid-utf8" doc:"Text not in UTF-8." enum:"error replace base64"`
	Lossy       string   `yaml:"lossy" flag:"lossy" doc:"How to write values that do not fit." enum:"null string"`
	Bloom       []string `yaml:"bloom" flag:"bloom" doc:"The columns of Parquet that get a bloom filter."`
	RowGroup    string   `yaml:"row-group" flag:"row-group" doc:"The size of the row groups of Parquet."`
	Compress    string   `yaml:"compress" flag:"compress" doc:"The compression of the files." enum:"zstd gzip none"`
	PartSize    string   `yaml:"part-size" flag:"part-size" doc:"The size of parts, such as 256MiB."`
	Force       bool     `yaml:"force" flag:"force" doc:"Overwrite files."`

	Create      bool   `yaml:"create" flag:"create" doc:"Make the tables."`
	Truncate    bool   `yaml:"truncate" flag:"truncate" doc:"Remove the rows that a table has."`
	Swap        bool   `yaml:"swap" flag:"swap" doc:"Fill new tables, which take the place of the old ones."`
	Append      bool   `yaml:"append" flag:"append" doc:"Keep the rows that a table has."`
	OnConflict  string `yaml:"on-conflict" flag:"on-conflict" doc:"Rows whose key exists." enum:"fail ignore"`
	Sequences   string `yaml:"sequences" flag:"sequences" doc:"Whether to set sequences past the rows." enum:"set keep"`
	Triggers    string `yaml:"triggers" flag:"triggers" doc:"Whether triggers fire." enum:"on off"`
	Ledger      string `yaml:"ledger" flag:"ledger" doc:"Record files in this table; load only those it does not have."`
	Verify      bool   `yaml:"verify" flag:"verify" doc:"Read the rows back, and compare their sum."`
	NoVerify    bool   `yaml:"no-verify" flag:"no-verify" doc:"Do not read the rows back."`
	Analyze     bool   `yaml:"analyze" flag:"analyze" doc:"Update the statistics of each table."`
	LockTimeout string `yaml:"lock-timeout" flag:"lock-timeout" doc:"The longest wait for locks, such as 10s."`
	Redact      bool   `yaml:"redact-errors" flag:"redact-errors" doc:"Keep values out of errors."`

	Reject     string `yaml:"reject" flag:"reject" doc:"Write rows that are refused to this file; load the others."`
	MaxRejects int    `yaml:"max-rejects" flag:"max-rejects" doc:"Fail if more rows are refused (1000 if not given)."`

	Convert Conversions `yaml:"convert" flag:"convert" doc:"The rules for the columns of each pattern, in order."`

	Mask     Masks    `yaml:"mask" flag:"mask" doc:"The rule for the columns of each pattern; the last one counts."`
	Key      Key      `yaml:"key" flag:"mask-key" doc:"The key of masks, which is never in this file."`
	Programs Programs `yaml:"programs" flag:"mask-program" doc:"The file of the program of each rule program NAME."`
	Strict   bool     `yaml:"strict" flag:"strict" doc:"Refuse what looks like personal data and has no rule."`

	As             string `yaml:"as" flag:"as" doc:"The identity for culvert:// URLs, a file."`
	Timeout        string `yaml:"timeout" flag:"timeout" doc:"Give up if no byte moves for this time, such as 30s."`
	Metrics        string `yaml:"metrics" flag:"metrics" doc:"Serve figures for Prometheus at this address."`
	Notify         string `yaml:"notify" flag:"notify" doc:"At the end, a URL to post to, or a command to run."`
	MetricsFile    string `yaml:"metrics-file" flag:"metrics-file" doc:"The file of figures for node_exporter."`
	Workers        int    `yaml:"workers" flag:"workers" doc:"Read parts with so many sessions of this process."`
	MaxConnections int    `yaml:"max-connections" flag:"max-connections" doc:"Open at most so many sessions."`
	Jobs           int    `yaml:"jobs" flag:"jobs" doc:"Use so many cores and connections."`
	Rate           string `yaml:"rate" flag:"rate" doc:"Move at most so much, such as 50MB/s or 10000rows/s."`
	MaxLoad        string `yaml:"max-load" flag:"max-load" doc:"Wait while this statement says true."`
	FailFast       bool   `yaml:"fail-fast" flag:"fail-fast" doc:"Stop at the first table that fails."`
}

// Apply sets the flags of a command that the file names and the command line does not; the masks of both count. It
// returns the names that the command has no flag for.
func (f *Flags) Apply(file string, flags *pflag.FlagSet) (useless []string, err error) {
	v := reflect.ValueOf(f).Elem()
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if v.Field(i).IsZero() {
			continue
		}
		name := field.Tag.Get("flag")
		flag := flags.Lookup(name)
		if flag == nil {
			useless = append(useless, field.Tag.Get("yaml"))
			continue
		}
		if rules, are := rulesOf(v.Field(i)); are {
			// The rules of the command line come after those of the file, and leave none out.
			list := flag.Value.(pflag.SliceValue)
			if err := list.Replace(slices.Concat(rules, list.GetSlice())); err != nil {
				return nil, &Error{File: file, Text: fmt.Sprintf("%s: %v", name, err)}
			}
			flag.Changed = true
			continue
		}
		if flag.Changed {
			continue
		}
		for _, text := range texts(v.Field(i)) {
			if err := flags.Set(name, text); err != nil {
				return nil, &Error{File: file, Text: fmt.Sprintf("%s: %v", field.Tag.Get("yaml"), err)}
			}
		}
	}
	return useless, nil
}

// rulesOf returns the rules of a field that has some, for columns that patterns match.
func rulesOf(v reflect.Value) (rules []string, are bool) {
	switch value := v.Interface().(type) {
	case Masks:
		return value, true
	case Conversions:
		return value, true
	}
	return nil, false
}

// texts returns the values of a field, as they are written after a flag.
func texts(v reflect.Value) []string {
	switch value := v.Interface().(type) {
	case []string:
		return value
	case bool:
		return []string{strconv.FormatBool(value)}
	case Programs:
		return value.texts()
	case Key:
		return []string{value.File}
	case int:
		return []string{strconv.Itoa(value)}
	}
	return []string{v.String()}
}

// nearHint says which of the known names was probably meant.
func nearHint(name string, known []string) string {
	if near := ui.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}
