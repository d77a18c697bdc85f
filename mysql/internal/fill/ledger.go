package fill

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/sink"
)

// ledgerName returns the name of a ledger for statements. It may have a database; quotes are not special.
func ledgerName(l *sink.Ledger) (database, name string) {
	database, name, found := strings.Cut(l.Table, ".")
	if !found {
		return "", catalog.Quote(database)
	}
	return catalog.Quote(database), catalog.Quote(database) + "." + catalog.Quote(name)
}

// ledgerSQL makes the ledger, and its database. The key has as many characters as InnoDB allows.
func ledgerSQL(l *sink.Ledger) []string {
	database, name := ledgerName(l)
	sql := []string{"CREATE TABLE IF NOT EXISTS " + name + ` (
	` + "`load`" + ` varchar(128) NOT NULL, table_name varchar(140) NOT NULL, part varchar(500) NOT NULL,
	row_count bigint NOT NULL, row_sum varchar(64) NOT NULL,
	loaded_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), PRIMARY KEY (` + "`load`" + `, table_name, part)
	) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin ROW_FORMAT=DYNAMIC`}
	if database == "" {
		return sql
	}
	return append([]string{"CREATE DATABASE IF NOT EXISTS " + database}, sql...)
}

// tableName is how the ledger names the table.
func (p *plan) tableName() string { return p.target.Database + "." + p.target.Name }

// readLedger reads what the ledger has of the table.
func (db *DB) readLedger(ctx context.Context, p *plan) error {
	if p.Ledger == nil {
		return nil
	}
	_, name := ledgerName(p.Ledger)
	found, err := db.conn.Query(ctx, 4, "SELECT `load`, part, row_count, row_sum FROM "+name+
		" WHERE table_name = ? ORDER BY loaded_at, part", p.tableName())
	if refused := wire.Refused(err); refused != nil &&
		(refused.Number == codeNoSuchTable || refused.Number == codeUnknownSchema) {
		return nil
	}
	if err != nil {
		return db.failed(ctx, "reading the ledger "+name, err)
	}
	p.loaded, p.recorded = nil, nil
	for _, row := range found {
		p.recorded = append(p.recorded, row[:2])
		if row[0] != p.Ledger.Load {
			continue
		}
		rows, err := strconv.ParseInt(row[2], 10, 64)
		if err != nil {
			return fmt.Errorf("mysql: reading the ledger %s: %w", name, wire.ErrAnswer)
		}
		p.loaded = append(p.loaded, sink.Part{Name: row[1], Rows: rows, Sum: row[3]})
	}
	return nil
}

// makeLedger makes the ledger, unless it is there. This commits a transaction. A ledger without transactions would
// still have parts whose rows were undone.
func (db *DB) makeLedger(ctx context.Context, l *sink.Ledger) error {
	if db.ledger == l.Table {
		return nil
	}
	_, name := ledgerName(l)
	_, err := db.conn.Query(ctx, 1, "SELECT 1 FROM "+name+" LIMIT 0")
	if err == nil {
		t := catalog.Table{Database: db.conn.Database, Name: l.Table}
		if schema, table, found := strings.Cut(l.Table, "."); found {
			t.Database, t.Name = schema, table
		}
		if err = db.checkEngine(ctx, t); err == nil {
			db.ledger = l.Table
		}
		return err
	}
	if wire.Refused(err) == nil {
		return db.failed(ctx, "looking for the ledger "+name, err)
	}
	for _, sql := range ledgerSQL(l) {
		if err := db.conn.Exec(ctx, sql); err != nil {
			return db.failed(ctx, "making the ledger "+name, err)
		}
	}
	return nil
}

// record adds a part to the ledger.
func (db *DB) record(ctx context.Context, p *plan, part sink.Part) error {
	_, name := ledgerName(p.Ledger)
	return db.failed(ctx, "recording part "+strconv.Quote(part.Name), db.conn.Run(ctx,
		"INSERT INTO "+name+" (`load`, table_name, part, row_count, row_sum) VALUES (?, ?, ?, ?, ?)",
		p.Ledger.Load, p.tableName(), part.Name, strconv.FormatInt(part.Rows, 10), part.Sum))
}

// forget removes what the ledger has of the table, whose rows are gone. It names the rows by their key: otherwise the
// server would look at, and wait for, those of other tables.
func (db *DB) forget(ctx context.Context, p *plan) error {
	if p.Ledger == nil {
		return nil
	}
	_, name := ledgerName(p.Ledger)
	const atOnce = 500
	for some := range slices.Chunk(p.recorded, atOnce) {
		var keys, values []string
		for _, row := range some {
			keys = append(keys, "`load` = ? AND table_name = ? AND part = ?")
			values = append(values, row[0], p.tableName(), row[1])
		}
		sql := "DELETE FROM " + name + " WHERE " + strings.Join(keys, " OR ")
		if err := db.conn.Run(ctx, sql, values...); err != nil {
			return db.failed(ctx, "clearing the ledger", err)
		}
	}
	return nil
}

// has reports whether the ledger has a part.
func (p *plan) has(ctx context.Context, conn *wire.Conn, part string) (bool, error) {
	_, name := ledgerName(p.Ledger)
	found, err := conn.Query(ctx, 1, "SELECT 1 FROM "+name+" WHERE `load` = ? AND table_name = ? AND part = ?",
		p.Ledger.Load, p.tableName(), part)
	return len(found) > 0, err
}
