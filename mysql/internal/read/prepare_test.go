package read_test

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/mysql/internal/read"
	"culvert/source"
)

// questions returns how many statements a session has sent.
func questions(t *testing.T, db *read.DB) int {
	t.Helper()
	rows := query(t, db, "SHOW SESSION STATUS LIKE 'Questions'")
	defer rows.Close()
	var b source.Batch
	if err := rows.Next(&b); err != nil {
		t.Fatal(err)
	}
	_, text := b.Value(0, 1)
	n, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPreparedStatements counts the statements that a table needs: to ask how it is made, to read it, and to ask for
// the number of rows; of MySQL, also for warnings. One statement looks at many tables.
func TestPreparedStatements(t *testing.T) {
	sent := map[int]int{}
	for _, tables := range []int{10, 40} {
		database := testkit.MariaDB(t).NewDatabase(t)
		for i := range tables {
			database.Exec(t, fmt.Sprintf(
				"CREATE TABLE t%d (id int PRIMARY KEY, b text); INSERT INTO t%[1]d VALUES (1, 'a')", i,
			))
		}
		db := open(t, database.URL())
		names, err := db.Tables(context.Background(), "")
		if err != nil {
			t.Fatal(err)
		}
		before := questions(t, db)
		if err := db.Prepare(context.Background(), names); err != nil {
			t.Fatal(err)
		}
		if outside, err := db.OutsideSnapshot(context.Background(), names); err != nil || len(outside) > 0 {
			t.Fatal(outside, err)
		}
		for range 2 { // an export asks for the size first
			for _, name := range names {
				rows := table(t, db, name)
				if _, err := rows.(source.Sized).Size(); err != nil {
					t.Fatal(err)
				}
				if err := rows.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, name := range names {
			defined(t, db, name)
			expectRows(t, table(t, db, name), 1)
		}
		sent[tables] = questions(t, db) - before
	}
	most := 3.2
	if testkit.MySQL() != "" {
		most++
	}
	if each := float64(sent[40]-sent[10]) / 30; each > most {
		t.Errorf("%.1f statements for each table", each)
	}
}

// TestPrepareOdd prepares tables that cannot be prepared, or not by their names alone, and compares what is then said
// of them.
func TestPrepareOdd(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	other := testkit.MariaDB(t).NewDatabase(t)
	reader := "'of " + database.Name + "'@localhost"
	database.Exec(t, strings.NewReplacer("READER", reader, "OTHER", other.Name).Replace(
		"CREATE TABLE hidden (id int, secret int); INSERT INTO hidden VALUES (1, 2);"+
			"CREATE TABLE `a.b` (id int, j json, g int AS (id) VIRTUAL) COMMENT 'one';"+
			"INSERT INTO `a.b` (id) VALUES (7);"+
			"CREATE TABLE plain (id int) ENGINE=MyISAM; CREATE SEQUENCE counter;"+
			"CREATE VIEW v AS SELECT id FROM hidden;"+
			"CREATE TRIGGER watch BEFORE INSERT ON `a.b` FOR EACH ROW SET NEW.id = 1;"+
			"CREATE TABLE OTHER.plain (id int, text varchar(9) CHARACTER SET latin1 DEFAULT '?');"+
			"CREATE USER READER; GRANT SELECT ON "+database.Name+".`a.b` TO READER;"+
			"GRANT SELECT ON "+database.Name+".plain TO READER;"+
			"GRANT SELECT (id) ON "+database.Name+".hidden TO READER;"+
			"GRANT SELECT ON OTHER.* TO READER"))
	t.Cleanup(func() { database.Exec(t, "DROP USER "+reader) })
	address := strings.Replace(database.URL(), "root@", url.PathEscape("of "+database.Name)+"@", 1)
	names := []string{"hidden", "a.b", "plain", "counter", "v", other.Name + ".plain", "`" + other.Name + "`.`plain`"}
	var said [2][]string
	for i := range said {
		db := open(t, address)
		if i == 1 {
			if err := db.Prepare(context.Background(), names); err != nil {
				t.Fatal(err)
			}
		}
		outside, err := db.OutsideSnapshot(context.Background(), names)
		said[i] = append(said[i], fmt.Sprint(outside, err))
		for _, name := range names {
			rows, err := db.Table(context.Background(), name)
			if err != nil {
				said[i] = append(said[i], err.Error())
				continue
			}
			columns := fmt.Sprint(rows.Columns())
			n, err := drain(rows)
			d := defined(t, db, name)
			said[i] = append(said[i], fmt.Sprint(name, columns, n, err, *d))
		}
	}
	if !slices.Equal(said[0], said[1]) {
		t.Errorf("prepared:\n%s\nand without:\n%s", strings.Join(said[1], "\n"), strings.Join(said[0], "\n"))
	}
}
