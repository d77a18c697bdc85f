package main

import (
	"fmt"
	"strings"
)

// loadRow is a group of bars in the figure of loads.
type loadRow struct {
	title string
	of    func(*recording) *recording
	peer  string
	found string // what the title of the figure calls the work; "" if it does not name it
}

var loadLabels = map[string]string{
	"tools": "age -d | zstd -d | psql", "culvert": "culvert load", "culvert-create": "culvert load --create",
	"culvert-verify": "culvert load --verify", "pg_restore": "pg_restore -j 4, not encrypted",
}

var loadRows = []loadRow{
	{
		"3 million rows into PostgreSQL, one connection", loaded("postgres", "connections", "1"), "tools",
		"one connection",
	},
	{
		"the same into an empty table, four connections", loaded("postgres", "connections", "4"), "tools",
		"four connections",
	},
	{"eight tables with indexes, four connections", loaded("postgres", "tables", "8"), "pg_restore", ""},
	{"eight tables to another server, four connections", copied, "pgcopydb", ""},
	{"a million rows into SQLite", loaded("sqlite"), "tools", "SQLite"},
	{"a million rows into MariaDB", loaded("mariadb"), "tools", "MariaDB"},
}

// copied selects copies of several tables to another server.
func copied(r *recording) *recording { return r.of("Copy").where("tables", "8") }

// loaded selects loads into a database.
func loaded(to string, pairs ...string) func(*recording) *recording {
	return func(r *recording) *recording { return r.of("Load").where(append([]string{"to", to}, pairs...)...) }
}

// labels are those of the variants, which depend on the database.
func (row loadRow) labels() map[string]string {
	switch {
	case strings.HasSuffix(row.title, "SQLite"):
		return map[string]string{"tools": "age -d | zstd -d | sqlite3", "culvert": "culvert load"}
	case strings.HasSuffix(row.title, "MariaDB"):
		return map[string]string{"tools": "age -d | zstd -d | mariadb-import", "culvert": "culvert load"}
	case row.peer == "pgcopydb":
		return map[string]string{
			"pgcopydb": "pgcopydb copy table-data", "culvert": "culvert copy",
			"culvert-unverified": "culvert copy --no-verify",
		}
	}
	return loadLabels
}

// cost is the row in the figure of costs, whose title calls it found.
func (row loadRow) cost(found string) costRow {
	impls := []string{row.peer, "timescaledb-parallel-copy", "culvert"}
	return costRow{row.title, row.of, impls, "", row.peer, row.labels(), found}
}

// loadTime draws loads into PostgreSQL.
func loadTime(r *recording) chart {
	return loadsTime(r, loadRows[:4], "Encrypted file to table: %s as fast as psql")
}

// otherLoadTime draws loads into other databases.
func otherLoadTime(r *recording) chart {
	return loadsTime(r, loadRows[4:], "Encrypted file to table: %s as fast as with its own tool")
}

// loadsTime draws a group for each row. The title is given how many times as fast ours is.
func loadsTime(r *recording, rows []loadRow, title string) chart {
	var groups []group
	var found []string
	for _, row := range rows {
		some := row.of(r)
		c := comparison{unit: "ns/op", peer: row.peer, labels: row.labels(), order: inTurn(some)}
		ratio, ok := c.speedUp(some, "culvert")
		if !ok {
			continue
		}
		groups = append(groups, group{row.title, c.bars(some)})
		if row.found != "" {
			found = append(found, row.found+" "+times(ratio))
		}
	}
	if len(found) == 0 {
		return nil
	}
	return &bars{
		heading{fmt.Sprintf(title, strings.Join(found, ", ")), measured(r, "one machine, synced commits")},
		fit(axis{label: "time; less is better", unit: "ns/op"}, groups), groups,
	}
}

// inTurn returns the variants in the order of their first round, in which each round begins with another one: peers
// first.
func inTurn(r *recording) []string {
	var peers, mine []string
	for _, impl := range r.distinct("impl") {
		if roleOf(impl) == ours {
			mine = append(mine, impl)
		} else {
			peers = append(peers, impl)
		}
	}
	return append(peers, mine...)
}
