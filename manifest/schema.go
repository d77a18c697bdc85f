package manifest

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"culvert/source"
)

// Schema describes the file of the schema of a whole database.
type Schema struct {
	source.Schema

	File      string `json:"file"`
	Before    int    `json:"before"`               // statements that come before the rows
	After     int    `json:"after"`                // statements that come after them
	ForTables int    `json:"for_tables,omitempty"` // statements of what single tables need
	TextBytes int64  `json:"text_bytes"`
	FileBytes int64  `json:"file_bytes"`
	SHA256    string `json:"sha256"`
}

// SchemaName is the name of the file of a schema, before the extensions of compression and encryption.
const SchemaName = "schema.json"

// IsSchemaName reports whether a file may be that of a schema.
func IsSchemaName(name string) bool {
	name, _ = strings.CutSuffix(caseless(name), ".age")
	for _, extension := range []string{".zst", ".gz"} {
		name, _ = strings.CutSuffix(name, extension)
	}
	return name == SchemaName
}

// NewSchema begins the entry of a schema. The texts in it become valid UTF-8.
func NewSchema(s *source.Schema) *Schema {
	described := &Schema{Schema: source.Schema{
		Dialect: s.Dialect, By: valid(s.By), Tables: s.Tables, Needs: s.Needs, OwnRows: s.OwnRows,
		Staged: s.Staged,
	}}
	for _, name := range s.Lacks {
		described.Lacks = append(described.Lacks, valid(name))
	}
	described.Before, described.After = s.Count()
	described.ForTables = len(s.ForTables)
	return described
}

func (s *Schema) check() error {
	hash, err := hex.DecodeString(s.SHA256)
	switch {
	case s.Dialect == "":
		return errors.New("has no dialect")
	case !IsSchemaName(s.File) || strings.ToLower(s.File) != s.File:
		return fmt.Errorf("is in a file %q, which is not named as one", s.File)
	case s.Before < 0, s.Before > mostStatements, s.After < 0, s.After > mostStatements,
		s.ForTables < 0, s.ForTables > mostStatements, s.TextBytes < 0, s.FileBytes < 0:
		return errors.New("has a number that cannot be")
	case err != nil, len(hash) != sha256.Size, strings.ToLower(s.SHA256) != s.SHA256:
		return errors.New("has no SHA-256")
	}
	return nil
}

// mostStatements bounds the number of statements. A schema of 100,000 tables has about a million.
const mostStatements = 8 << 20

// maxStatements bounds the text of the file of a schema. JSON writes a line feed or a quote with two bytes.
const maxStatements = 2 * source.MaxSchema

// WriteStatements writes the text of the file of a schema: a JSON object with the array statements, each on a line. The
// error is [source.ErrSchemaTooLarge] if they are more than ReadStatements reads.
func WriteStatements(w io.Writer, statements []source.Statement) error {
	if len(statements) > mostStatements {
		return source.ErrSchemaTooLarge
	}
	to := bufio.NewWriterSize(w, 64<<10)
	size := 0
	separator := "{\"statements\": [\n"
	for _, one := range statements {
		line, err := encode(one)
		if err != nil {
			return err
		}
		if size += len(line) + len(separator); size > maxStatements {
			return source.ErrSchemaTooLarge
		}
		_, _ = to.WriteString(separator) // Flush returns its error
		_, _ = to.Write(bytes.TrimSuffix(line, []byte("\n")))
		separator = ",\n"
	}
	if len(statements) == 0 {
		_, _ = to.WriteString(separator)
	}
	_, _ = to.WriteString("\n]}\n")
	return to.Flush()
}

// ReadStatements reads the text of the file of a schema, and calls each with one statement after the other. It keeps
// none.
func ReadStatements(r io.Reader, each func(source.Statement) error) error {
	limited := &io.LimitedReader{R: r, N: maxStatements + 1<<10}
	err := readStatements(json.NewDecoder(limited), each)
	if limited.N <= 0 {
		err = source.ErrSchemaTooLarge
	}
	if err != nil {
		return fmt.Errorf("%w: the schema: %w", ErrInvalid, err)
	}
	return nil
}

func readStatements(text *json.Decoder, each func(source.Statement) error) error {
	for _, want := range []json.Token{json.Delim('{'), "statements", json.Delim('[')} {
		if got, err := text.Token(); err != nil || got != want {
			return cmp.Or(err, errors.New("it does not begin as one"))
		}
	}
	for text.More() {
		var one source.Statement
		if err := text.Decode(&one); err != nil {
			return err
		}
		if one.SQL == "" {
			return errors.New("a statement is empty")
		}
		if err := each(one); err != nil {
			return err
		}
	}
	for _, want := range []json.Token{json.Delim(']'), json.Delim('}')} {
		if got, err := text.Token(); err != nil || got != want {
			return cmp.Or(err, errors.New("it does not end as one"))
		}
	}
	return nil
}
