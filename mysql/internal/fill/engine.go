package fill

import (
	"context"
	"fmt"
	"strings"

	"culvert/internal/lazyregexp"
	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
)

// checkEngine refuses a table whose rows could not be undone.
func (db *DB) checkEngine(ctx context.Context, t catalog.Table) error {
	found, err := db.conn.Query(ctx, 1, `SELECT IFNULL(ENGINE, '') FROM information_schema.TABLES
		WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`, t.Database, t.Name)
	if err == nil && len(found) != 1 {
		err = wire.ErrAnswer
	}
	if err == nil {
		err = db.learnEngines(ctx)
	}
	if err != nil {
		return db.failed(ctx, t.String(), err)
	}
	if _, is := db.engines[strings.ToLower(found[0][0])]; !is {
		return fmt.Errorf("mysql: %s has the storage engine %q, which has no transactions; "+
			"to change that: ALTER TABLE %s ENGINE=InnoDB", t, found[0][0], t.SQL())
	}
	return nil
}

// learnEngines asks for the storage engines with transactions, once.
func (db *DB) learnEngines(ctx context.Context) error {
	if db.engines != nil {
		return nil
	}
	found, err := db.conn.Query(ctx, 2, `SELECT LOWER(ENGINE), SUPPORT IN ('YES', 'DEFAULT') AND
		ENGINE IN (`+catalog.SnapshotEngines+`) FROM information_schema.ENGINES WHERE TRANSACTIONS = 'YES'`)
	if err != nil {
		return err
	}
	db.engines = map[string]bool{}
	for _, row := range found {
		db.engines[row[0]] = row[1] == "1"
	}
	return nil
}

// A table that is made has an engine whose rows can be undone. One that was defined with another, such as MyISAM, or
// with one that the server does not have, is made with InnoDB. This is not for tables whose rows are elsewhere, as
// those of FEDERATED are: a load would change them there.
const usualEngine = "InnoDB"

var (
	// ofEngine are options that InnoDB has not, or with other values. A text in quotes has quotes inside doubled.
	ofEngine = lazyregexp.New(`^ ((?:ROW_FORMAT|KEY_BLOCK_SIZE|PAGE_CHECKSUM|TRANSACTIONAL|CONNECTION|UNION|` +
		`INSERT_METHOD)=)((?:'(?:[^'\\]|\\.|'')*'|[^ '])*)`)
	otherOption = lazyregexp.New(`^ (?:'(?:[^'\\]|\\.|'')*'|[^ '])*`)
)

// chooseEngine gives a table that is to be made an engine with transactions, and returns what it lacks then.
func (db *DB) chooseEngine(ctx context.Context, p *plan) (left []string, err error) {
	const clause = "\n) ENGINE="
	columns, options, found := strings.Cut(p.Create.Create, clause)
	if !found || strings.Contains(options, clause) {
		return nil, nil // the server decides
	}
	end := max(0, strings.IndexAny(options, " \n"))
	engine, options := options[:end], options[end:]
	if err := db.learnEngines(ctx); err != nil {
		return nil, db.failed(ctx, "asking for the storage engines", err)
	}
	if p.engined = true; db.engines[strings.ToLower(engine)] {
		return nil, nil
	}
	left = append(left, fmt.Sprintf("the storage engine %s (%s in its place)", engine, usualEngine))
	options, partitions, _ := strings.Cut(options, "\n")
	create := columns + clause + usualEngine
	for options != "" {
		if option := ofEngine.FindStringSubmatch(options); option != nil {
			options = options[len(option[0]):]
			left = append(left, "its option "+strings.TrimSuffix(option[1], "="))
			continue
		}
		option := options
		if one := otherOption.FindStringSubmatch(options); one != nil {
			option = one[0]
		}
		create, options = create+option, options[len(option):]
	}
	if partitions != "" {
		create += "\n" + strings.ReplaceAll(partitions, " ENGINE = "+engine, " ENGINE = "+usualEngine)
	}
	d := *p.Create
	d.Create = create
	p.Create = &d
	return left, nil
}
