// Package jobfile reads job files: what an export, a load or a copy does, written down once, in YAML.
//
// [Read] returns a [File]. Each section of it is a type of this package, whose fields have the names and the
// descriptions of the file in their tags: yaml has the name, doc the description, and flag the name of the flag of the
// same meaning, if there is one. The decoder (decode.go) and the JSON schema (schema.go) follow from the types, so a
// section that is added here is known to both. A type of several forms, such as a text or a mapping, implements
// [Decoder] and [Schemer].
//
// A job file holds no secret. It names files and services that do.
package jobfile

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/goccy/go-yaml/ast"

	"culvert/internal/namepattern"
)

// MaxSize is the most bytes of a job file.
const MaxSize = 256 << 10

// File is a job file.
type File struct {
	From     string `yaml:"from" doc:"What is read: the SOURCE of an export or a copy, or the DIR of a load."`
	FromFile string `yaml:"from-file" doc:"The file whose first line is SOURCE, as for --dsn-file."`
	To       string `yaml:"to" doc:"Where it goes: the output of an export, or the DEST of a load or a copy. In an export, {date}, {time}, {host} and {database} stand for the day and the time in UTC, the name of this machine, and the name of the database."` //nolint:lll // a tag is one line

	Tables Tables `yaml:"tables" doc:"Which tables, and what of them. Without it, all of them."`

	Columns string `yaml:"columns" doc:"The list of the columns that were reviewed, which culvert job columns writes; a name is relative to the directory of the job file. Others are named, and refused with strict."` //nolint:lll // a tag is one line

	Flags `yaml:",inline"`
}

// Tables says which tables are meant, and which of their rows and columns.
type Tables struct {
	Include []TablePattern `yaml:"include" doc:"Patterns of the tables that are meant; without it, all are."`
	Exclude []TablePattern `yaml:"exclude" doc:"Patterns of tables that are left out."`
	Rows    Rows           `yaml:"rows" doc:"Tables without rows."`

	Optional bool  `yaml:"optional" doc:"Let patterns match no table: a warning instead of an error."`
	Follow   *bool `yaml:"follow" doc:"If false, conditions do not restrict the tables that refer to their table."`

	// Named says more of the tables that a pattern matches. No table may be matched twice.
	Named map[TablePattern]Table `yaml:",inline" doc:"What of the tables that this pattern matches."`
}

// Rows says of which tables only the definitions are exported.
type Rows struct {
	Exclude []TablePattern `yaml:"exclude" doc:"Patterns of tables that are defined, but have no rows."`
}

// Table says what of a table is meant.
type Table struct {
	Where   string  `yaml:"where" doc:"A condition in the SQL of the database that rows have to meet."`
	Columns Columns `yaml:"columns" doc:"Which columns."`

	Follow     *bool       `yaml:"follow" doc:"If false, conditions on other tables do not restrict this one."`
	Cut        []string    `yaml:"cut" doc:"Columns whose foreign keys are not followed."`
	References []Reference `yaml:"references" doc:"Foreign keys that the database does not have."`
}

// Columns says which columns are meant.
type Columns struct {
	Include []string `yaml:"include" doc:"The columns that are meant, in this order; without it, all are."`
	Exclude []string `yaml:"exclude" doc:"Columns that are left out."`
}

// Reference is a foreign key that the database does not have.
type Reference struct {
	Columns []string     `yaml:"columns" doc:"The columns that refer to rows of another table." required:"true"`
	Table   TablePattern `yaml:"table" doc:"The other table, with its schema." required:"true"`
	Key     []string     `yaml:"key" doc:"The columns of the other table that they refer to." required:"true"`
}

// Error is an error of a job file.
type Error struct {
	File         string
	Line, Column int // from 1; 0 if it is about the whole file
	Text         string
	Hint         string // what to do about it, or ""
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Text)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// Read reads a job file. What is wrong with its text is an [*Error].
func Read(name string) (*File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, MaxSize+1)) // it may be a pipe, whose size nobody knows
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	if len(text) > MaxSize {
		return nil, &Error{File: name, Text: fmt.Sprintf("it is larger than %d KiB, so it is no job file", MaxSize>>10)}
	}
	return Parse(name, text)
}

// Parse is Read of a file that is in memory.
func Parse(name string, text []byte) (*File, error) {
	f := new(File)
	if err := decodeFile(name, text, f); err != nil {
		return nil, err
	}
	return f, nil
}

// check refuses what the parts of a file do not say of each other.
func (f *File) check() error {
	if f.From != "" && f.FromFile != "" {
		return &Error{Text: "both from and from-file are there", Hint: "leave out one of them"}
	}
	return nil
}

// TablePattern is a pattern of tables; see package namepattern.
type TablePattern string

// DecodeNode implements [Decoder].
func (p *TablePattern) DecodeNode(node ast.Node) error { return decodePattern(node, (*string)(p), 2) }

// JSONSchema implements [Schemer].
func (TablePattern) JSONSchema() map[string]any {
	return map[string]any{"type": "string", "minLength": 1}
}

// decodePattern reads a pattern of at most parts parts.
func decodePattern(node ast.Node, into *string, parts int) error {
	if err := Decode(node, into); err != nil {
		return err
	}
	_, err := namepattern.Parse(*into, parts)
	if syntax, is := errors.AsType[*namepattern.SyntaxError](err); is {
		return Wrong(node, syntax.Error(), "see: culvert help jobs-file")
	}
	return err
}

// Texts returns patterns as texts.
func Texts(patterns []TablePattern) []string {
	texts := make([]string, len(patterns))
	for i, pattern := range patterns {
		texts[i] = string(pattern)
	}
	return texts
}
