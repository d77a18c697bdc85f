package culvert_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"

	"filippo.io/age"
	_ "github.com/ncruces/go-sqlite3/driver"

	"culvert/agefile"
	"culvert/export"
	"culvert/format"
	"culvert/sqldb"
)

// Example takes rows the whole way in memory: out of a database, into an encrypted file, and back.
func Example() {
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // another connection would see another database
	const todos = `CREATE TABLE todos (id INTEGER, title TEXT, note TEXT);
		INSERT INTO todos VALUES (1, 'Call Zoë', NULL), (2, 'Pay "the landlord"', '')`
	if _, err := db.Exec(todos); err != nil {
		panic(err)
	}
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		panic(err)
	}

	var file bytes.Buffer
	plan := export.Plan{
		Format:      format.JSONL{},
		Compression: export.None,
		Recipients:  []age.Recipient{identity.Recipient()},
	}
	stats, err := plan.Table(context.Background(), &file, sqldb.New(db), "todos")
	if err != nil {
		panic(err)
	}

	rows, err := agefile.NewReader(&file, identity)
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(rows)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d rows\n%s", stats.Rows, text)
	// Output:
	// 2 rows
	// {"id":1,"title":"Call Zoë","note":null}
	// {"id":2,"title":"Pay \"the landlord\"","note":""}
}
