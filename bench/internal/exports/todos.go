package exports

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"culvert/bench/internal/harness"

	_ "embed"

	gormpostgres "gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"culvert/format"
	"culvert/postgres"
	"culvert/source"
)

//go:embed sql/todos.sql
var todosSQL string

// todo is a row as GORM knows it.
type todo struct {
	ID    int
	Title string
	Note  string
}

func (todo) TableName() string { return "todos" }

const (
	todosQuery = "SELECT id, title, note FROM todos"
	todosLine  = "{ID: {id}, Title: {title}, Note: {note}},"
)

// todos has the connections, opened before anything is measured, by which the rows of a small table go into a file.
type todos struct {
	*harness.Session
	files []string // one for each run of a sample
	gorm  *gorm.DB
	db    *postgres.Source

	batch source.Batch // kept from one export to the next, as the pooled writer is
	text  []byte
}

// PrepareTodos compares ways to write 10,000 rows to a text file: with GORM and a pooled writer, and with Culvert.
func PrepareTodos(s *harness.Session) ([]harness.Benchmark, error) {
	t, err := newTodos(s)
	if err != nil {
		return nil, err
	}
	pooled, err := t.read(t.writePooled)
	if err != nil {
		return nil, fmt.Errorf("GORM: %w", err)
	}
	ours, err := t.read(t.writeRows)
	if err != nil {
		return nil, fmt.Errorf("culvert: %w", err)
	}
	if n := bytes.Count(ours, []byte("\n")); n != t.rows() || !bytes.Equal(ours, pooled) {
		return nil, fmt.Errorf("culvert writes another file than GORM, of %d lines", n)
	}
	s.Say("both write the same %d bytes", len(ours))
	way := func(key string, write func(io.Writer) error) harness.Variant {
		return harness.Variant{Key: key, Run: func() (harness.Sample, error) { return t.measure(write) }}
	}
	return []harness.Benchmark{{
		Name:     fmt.Sprintf("Todos/rows=%d", t.rows()),
		Variants: []harness.Variant{way("impl=gorm-pooled", t.writePooled), way("impl=culvert", t.writeRows)},
		Goals: []harness.Goal{
			{Variant: "impl=culvert", Peer: "impl=gorm-pooled", Unit: "ns/op", Max: 0.25},
			{Variant: "impl=culvert", Unit: "allocs/op", Max: 40},
			{Variant: "impl=culvert", Unit: "B/op", Max: 100e3},
		},
	}}, nil
}

func (t *todos) rows() int { return t.Size(10_000, 500) }

func newTodos(s *harness.Session) (*todos, error) {
	t := &todos{Session: s}
	for i := range s.Size(20, 2) {
		t.files = append(t.files, filepath.Join(s.Dir, fmt.Sprintf("todos-%d.txt", i)))
	}
	t.batch.SetLimit(64 << 10)
	database, err := s.Postgres()
	if err != nil {
		return nil, err
	}
	fill := exec.CommandContext(s.Ctx, "psql", "-q", "--set", "ON_ERROR_STOP=1")
	fill.Env, fill.Stdin = database.Env, strings.NewReader(harness.WithRows(todosSQL, t.rows()))
	if err := s.Run(fill); err != nil {
		return nil, err
	}
	return t, t.connect(database.ConnString("postgres"))
}

func (t *todos) connect(connString string) (err error) {
	t.gorm, err = gorm.Open(gormpostgres.Open(connString), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return err
	}
	pool, err := t.gorm.DB()
	if err != nil {
		return err
	}
	t.Cleanup(pool.Close)
	if t.db, err = postgres.OpenSource(t.Ctx, connString); err != nil {
		return err
	}
	t.Cleanup(t.db.Close)
	return nil
}

// measure makes one file after the other, and removes them only when the time is taken: to empty a file takes some file
// systems longer than to write it.
func (t *todos) measure(write func(io.Writer) error) (harness.Sample, error) {
	next := 0
	got, err := harness.Repeated(len(t.files), func() error {
		next++
		return exportTo(t.files[next-1], write)
	})
	for _, name := range t.files[:next] {
		err = errors.Join(err, os.Remove(name))
	}
	return got, err
}

// exportTo is what is measured: a file is made, written and closed.
func exportTo(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// read gives what a way writes.
func (t *todos) read(write func(io.Writer) error) ([]byte, error) {
	name := t.files[0]
	if err := exportTo(name, write); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(name)
	return text, errors.Join(err, os.Remove(name))
}

var writers = sync.Pool{New: func() any { return bufio.NewWriter(nil) }}

// writePooled writes the parts of each line as strings, by a writer out of a pool.
func (t *todos) writePooled(file io.Writer) error {
	var found []todo
	if err := t.gorm.WithContext(t.Ctx).Find(&found).Error; err != nil {
		return err
	}
	w := writers.Get().(*bufio.Writer)
	defer writers.Put(w)
	w.Reset(file)
	for _, row := range found {
		for _, part := range [...]string{
			"{ID: ", strconv.Itoa(row.ID), ", Title: ", row.Title, ", Note: ", row.Note, "},\n",
		} {
			if _, err := w.WriteString(part); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

// writeRows writes the rows of a query batch by batch.
func (t *todos) writeRows(file io.Writer) (err error) {
	rows, err := t.db.Query(t.Ctx, todosQuery)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	encoder, err := format.Text{Line: todosLine}.Encoder(rows.Columns())
	if err != nil {
		return err
	}
	for {
		if err := rows.Next(&t.batch); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if t.text, err = encoder.AppendRows(t.text[:0], &t.batch); err != nil {
			return err
		}
		if _, err := file.Write(t.text); err != nil {
			return err
		}
	}
}
