package fill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"culvert/mysql/internal/wire"
	"culvert/sink"
	"culvert/source"
)

// Several connections fill an empty table, or load parts that are committed one by one. A transaction has one
// connection, so each has its own. Without parts, they are committed one after the other, when all rows are there: if
// one cannot be, the rows of the others are deleted again, if the table has no more rows than these.

// Reasons for one connection.
const (
	aloneInAll     = "all rows are one transaction, which has one connection in MySQL and MariaDB"
	aloneByKeys    = "its rows refer to each other"
	aloneByTrigger = "its triggers may use the same rows of other tables"
	aloneByNumbers = "the server takes rows with AUTO_INCREMENT from one statement at a time, unless its " +
		"innodb_autoinc_lock_mode is 2"
	aloneWithoutKey = "it has no primary key, so the server adds all rows at one place"
	aloneOnServer   = "a further connection has reached another server"
	aloneByServer   = "the server accepts no more connections"
	aloneBySpatial  = "it has a spatial index"
)

// share decides how many connections fill a table.
func (db *DB) share(ctx context.Context, p *plan) error {
	p.wanted, p.alone = 1, ""
	if p.Loaders <= 1 {
		return nil
	}
	var err error
	if p.alone, err = db.aloneBy(ctx, p); err == nil && p.alone == "" {
		p.wanted = p.Loaders
	}
	return err
}

// aloneBy returns why one connection fills a table, or "". What rows of other transactions refer to cannot be seen, and
// rows of an earlier load could not be told from those that must be deleted again.
func (db *DB) aloneBy(ctx context.Context, p *plan) (string, error) {
	hasRows := p.clear && p.rows > 0 || len(p.loaded) > 0 || p.Existing == sink.Append
	switch {
	case p.Grouped, p.Conflict != sink.Fail, hasRows && !p.EachPart:
		return aloneInAll, nil
	case len(p.keys) > 0:
		return aloneByKeys, nil
	}
	return db.aloneByTable(ctx, p)
}

// aloneByTable is aloneBy for what the table is.
func (db *DB) aloneByTable(ctx context.Context, p *plan) (string, error) {
	if p.Create != nil {
		return db.aloneByFacts(ctx, map[string]bool{
			"keyed":    strings.Contains(p.createSQL, "PRIMARY KEY"),
			"numbered": strings.Contains(p.createSQL, " AUTO_INCREMENT"),
			"spatial":  strings.Contains(p.createSQL, "SPATIAL KEY "),
		})
	}
	keys, err := db.foreignKeys(ctx, p.target)
	if err != nil {
		return "", db.failed(ctx, p.target.String(), err)
	}
	if slices.ContainsFunc(keys, func(key foreignKeyOf) bool { return db.isSame(key.to, p.target) }) {
		return aloneByKeys, nil
	}
	if triggers, err := db.hasTriggers(ctx, p.target); triggers || err != nil {
		return aloneByTrigger, err
	}
	const ofTable = " WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND "
	found, err := db.conn.Query(ctx, 1, "SELECT 'keyed' FROM information_schema.COLUMNS"+ofTable+"COLUMN_KEY = 'PRI'"+
		" UNION SELECT 'numbered' FROM information_schema.COLUMNS"+ofTable+"EXTRA LIKE '%auto_increment%'"+
		" UNION SELECT 'spatial' FROM information_schema.STATISTICS"+ofTable+"INDEX_TYPE = 'SPATIAL'",
		p.target.Database, p.target.Name, p.target.Database, p.target.Name, p.target.Database, p.target.Name)
	if err != nil {
		return "", db.failed(ctx, p.target.String(), err)
	}
	facts := map[string]bool{}
	for _, row := range found {
		facts[row[0]] = true
	}
	return db.aloneByFacts(ctx, facts)
}

// aloneByFacts is aloneByTable for a table that is keyed, numbered or spatial.
func (db *DB) aloneByFacts(ctx context.Context, facts map[string]bool) (string, error) {
	switch {
	case !facts["keyed"]:
		return aloneWithoutKey, nil
	case facts["spatial"]:
		return aloneBySpatial, nil
	case !facts["numbered"]:
		return "", nil
	}
	mode, err := db.conn.Query(ctx, 1, "SELECT @@innodb_autoinc_lock_mode")
	if err == nil && len(mode) != 1 {
		err = wire.ErrAnswer
	}
	if err != nil || mode[0][0] == "2" {
		return "", db.failed(ctx, "asking for innodb_autoinc_lock_mode", err)
	}
	return aloneByNumbers, nil
}

// Alone says why there are fewer connections than were wanted.
func (t *table) Alone() string { return t.alone }

// commitBeginning commits what precedes parts, since each connection commits its own.
func (t *table) commitBeginning() error {
	for _, sql := range []string{commitSQL, beginSQL} {
		if err := t.db.conn.Exec(t.ctx, sql); err != nil {
			return t.db.failed(t.ctx, "beginning to fill "+t.target.String(), err)
		}
	}
	t.empty = false // others may add rows
	return nil
}

// beginOthers opens the connections beside the first one, as far as the server accepts them.
func (t *table) beginOthers() error {
	for range t.wanted - 1 {
		db, err := open(t.ctx, t.db.settings)
		if t.alone = tooMany(err); t.alone != "" {
			return nil
		}
		if err != nil {
			return err
		}
		if db.conn.Server != t.db.conn.Server {
			t.alone = aloneOnServer
			return db.Close()
		}
		other := &table{plan: t.plan, db: db, ctx: t.ctx}
		t.others = append(t.others, other)
		if err := other.enter(); err != nil {
			return err
		}
		other.loader = newLoader(other)
		other.loader.Join(&t.TableState, other.loader)
	}
	return nil
}

// tooMany is the reason for fewer connections if the server has refused one because it, or the user, has too many.
func tooMany(err error) string {
	switch wire.ErrorNumber(err) {
	case 1040, 1203, 1226: // ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED
		return aloneByServer
	}
	return ""
}

// enter begins the transaction of a further connection. Its snapshot shows no rows of others, so that what is read back
// are its own.
func (t *table) enter() error {
	if err := t.db.ready(t.ctx, t.Filling); err != nil {
		return err
	}
	if t.EachPart {
		return t.db.failed(t.ctx, "beginning a transaction", t.db.conn.Exec(t.ctx, beginSQL))
	}
	err := t.db.conn.Exec(t.ctx, beginSQL+" WITH CONSISTENT SNAPSHOT")
	var found [][]string
	if err == nil {
		found, err = t.db.conn.Query(t.ctx, 1, "SELECT 1 FROM "+t.target.SQL()+" LIMIT 1")
	}
	if err != nil {
		return t.db.failed(t.ctx, "beginning to fill "+t.target.String(), err)
	}
	if t.empty = len(found) == 0; !t.empty {
		return fmt.Errorf("mysql: %s: %w", t.target, sink.ErrNotEmpty)
	}
	return nil
}

// commitAll commits the transactions of all connections.
func (t *table) commitAll() error {
	all := append([]*table{t}, t.others...)
	if t.EachPart {
		all = all[:1] // the others have committed their parts
	}
	for i, one := range all {
		err := one.commit()
		if err == nil {
			continue
		}
		isUnsure := errors.Is(err, sink.ErrUnconfirmed)
		if len(all) == 1 || i == 0 && !isUnsure {
			return err
		}
		if failed := t.undo(all, i, isUnsure); failed != nil {
			return fmt.Errorf("mysql: %s has some of the rows, and perhaps all, which cannot be deleted: %w", t.target,
				errors.Join(err, failed))
		}
		if isUnsure {
			return fmt.Errorf("mysql: %s: a connection was lost while it committed, and the rows of all are deleted "+
				"again: %w", t.target, source.ErrUnavailable)
		}
		return err
	}
	return nil
}

// undo deletes the rows of the first connections again, which are committed. If those of the next one are too, which
// nobody says of a connection that was lost, they cannot be told from rows that others have added.
func (t *table) undo(all []*table, committed int, isUnsure bool) error {
	rows := int64(0)
	for i, one := range all {
		if i < committed {
			rows += one.loader.added
		} else if i > committed || !isUnsure {
			one.rollBack()
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), undoTimeout)
	defer cancel()
	conn, err := all[committed].db.conn.After(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return t.deleteAll(ctx, &DB{conn: conn}, rows)
}

// deleteAll deletes all rows of the table, if they are so many.
func (t *table) deleteAll(ctx context.Context, db *DB, rows int64) error {
	for _, sql := range []string{settingsSQL, beginSQL} {
		if err := db.conn.Exec(ctx, sql); err != nil {
			return db.failed(ctx, "deleting rows", err)
		}
	}
	deleted, err := db.conn.Affect(ctx, "DELETE FROM "+t.target.SQL())
	if err != nil {
		return db.failed(ctx, "deleting rows", err)
	}
	if deleted != rows {
		return errOtherRows
	}
	if t.Ledger != nil {
		_, name := ledgerName(t.Ledger)
		if err := db.conn.Run(ctx, "DELETE FROM "+name+" WHERE `load` = ? AND table_name = ?", t.Ledger.Load,
			t.tableName()); err != nil {
			return db.failed(ctx, "clearing the ledger", err)
		}
	}
	return db.failed(ctx, "deleting rows", db.conn.Exec(ctx, commitSQL))
}

var errOtherRows = errors.New("it has other rows too: of the connection that was lost, or of others")

// endOthers closes the connections beside the first one, when nothing of them goes on in the server.
func (t *table) endOthers() {
	for _, other := range t.others {
		if other.loader != nil {
			_ = other.loader.wait() // a failure is known, or is that of the context
		}
		other.rollBack()
		_ = other.db.Close() // nothing is being filled
	}
	t.others = nil
}

// rollBack undoes what is not committed.
func (t *table) rollBack() {
	t.quietly(func() error { return t.db.conn.SetDeadline(time.Now().Add(undoTimeout)) })
	t.quietly(func() error { return t.db.conn.Exec(context.Background(), "ROLLBACK") })
}
