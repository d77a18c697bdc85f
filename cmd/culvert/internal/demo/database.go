package demo

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"

	"github.com/ncruces/go-sqlite3"
)

// unsafe makes writing fast. Nobody needs the database after a crash.
const unsafe = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; "

const todosSchema = `
CREATE TABLE todos (
	id    INTEGER PRIMARY KEY,
	title TEXT NOT NULL,
	note  TEXT,
	done  BOOLEAN NOT NULL,
	due   TEXT
)`

var (
	todoVerbs = []string{"Call", "Write to", "Pay", "Visit", "Ask", "Remind", "Thank", "Wait for", "Send the papers to"}
	todoWhom  = []string{
		"the plumber", "Mrs. Okafor", "the bank", "Zoë", "the tax office", "uncle José", "the \"landlord\"",
	}
	todoNotes = []string{
		"as soon as possible", "not before noon", "the number is in the blue book",
		"first line\nsecond line", "see above, twice", "",
	}
)

// makeTodos makes a database with a table of todos: always the same rows, some with what a format has to quote.
func makeTodos(ctx context.Context, path string, rows int64) (err error) {
	db, err := sqlite3.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetInterrupt(ctx)
	if err := db.Exec(unsafe + todosSchema + "; BEGIN"); err != nil {
		return err
	}
	insert, _, err := db.Prepare("INSERT INTO todos VALUES (?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, insert.Close()) }()

	rnd := rand.New(rand.NewPCG(1, 2))
	var title, note, due []byte
	for id := range rows {
		title = append(title[:0], todoVerbs[rnd.IntN(len(todoVerbs))]...)
		title = append(append(title, ' '), todoWhom[rnd.IntN(len(todoWhom))]...)
		title = strconv.AppendInt(append(title, " about no. "...), rnd.Int64N(1_000_000), 10)
		note = append(note[:0], todoNotes[rnd.IntN(len(todoNotes))]...)
		due = append(due[:0], "2030-01-01"...)
		due[6] += byte(rnd.IntN(9))
		due[9] += byte(rnd.IntN(9))
		err := errors.Join(
			insert.BindInt64(1, id+1),
			insert.BindRawText(2, title),
			insert.BindRawText(3, note),
			insert.BindBool(4, rnd.IntN(3) == 0),
			insert.BindRawText(5, due))
		if rnd.IntN(4) == 0 {
			err = errors.Join(err, insert.BindNull(3))
		}
		if err = errors.Join(err, insert.Exec()); err != nil {
			return err
		}
	}
	return db.Exec("COMMIT")
}

// makeEmpty makes a database with an empty table of todos.
func makeEmpty(path string) error {
	db, err := sqlite3.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(db.Exec(todosSchema), db.Close())
}
