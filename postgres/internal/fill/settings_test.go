package fill_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"culvert/format"
	"culvert/internal/testkit"
	reading "culvert/postgres/internal/read"
	"culvert/sink"
	"culvert/source"
)

// hostileSQL returns the parameters that a client can set, and values that differ from what they are. Without those
// that only write to the server's log or trace it, wait, belong to one transaction, or forbid to write.
const hostileSQL = `
SELECT name, CASE vartype
	WHEN 'bool' THEN CASE setting WHEN 'on' THEN 'off' ELSE 'on' END
	WHEN 'enum' THEN array_to_string(array_remove(enumvals, setting), ',')
	WHEN 'string' THEN CASE name WHEN 'TimeZone' THEN 'Asia/Kathmandu' WHEN 'DateStyle' THEN 'SQL, DMY'
		WHEN 'timezone_abbreviations' THEN 'India' WHEN 'client_encoding' THEN 'LATIN1'
		WHEN 'default_text_search_config' THEN 'german' WHEN 'search_path' THEN 'pg_temp, information_schema' END
	ELSE min_val || ',' || max_val END
FROM pg_settings WHERE context IN ('user', 'superuser')
	AND name !~ '^(log_|trace_|debug_(print|discard|io)|transaction_|post_auth|temp_buffers|max_stack_depth)'
	AND name !~ '(_timeout|_delay)$' AND name <> 'default_transaction_read_only' ORDER BY name`

// setting is a parameter with a value of another user.
type setting struct{ name, value string }

// hostileSettings returns every parameter in the first of several rounds, and in others those with more values.
func hostileSettings(t *testing.T, database *testkit.PostgresDatabase) (rounds [][]setting) {
	t.Helper()
	for _, row := range database.Query(t, hostileSQL) {
		if row[1] == "" {
			continue
		}
		values := strings.Split(row[1], ",")
		if row[0] == "DateStyle" || row[0] == "search_path" {
			values = []string{row[1]}
		}
		for i, value := range values {
			if len(rounds) == i {
				rounds = append(rounds, nil)
			}
			rounds[i] = append(rounds[i], setting{row[0], value})
		}
	}
	if len(rounds) < 2 || len(rounds[0]) < 100 {
		t.Fatalf("there are few parameters: %v", rounds)
	}
	return rounds
}

// TestHostileSettings reads and fills a table with values of many types, while the database has set every parameter
// that a client can set to something else. What is read and what is loaded stays the same.
func TestHostileSettings(t *testing.T) {
	database := testkit.Postgres(t).NewDatabase(t)
	server := &testkit.PostgresDatabase{Server: database.Server, Name: "postgres"}
	columns, first, second := []string{"id int PRIMARY KEY"}, []string{"1"}, []string{"2"}
	for i, v := range values {
		columns = append(columns, fmt.Sprintf(`v%d %s`, i, v.Type))
		first, second = append(first, v.SQL), append(second, "NULL")
	}
	database.Exec(t, types+"; CREATE TABLE public.read ("+strings.Join(columns, ", ")+");"+
		"CREATE TABLE public.filled (LIKE read); INSERT INTO read VALUES ("+strings.Join(first, ", ")+"), ("+
		strings.Join(second, ", ")+")")
	want := printed(t, database, "public.read")
	// check reports what is wrong with some settings, or "".
	check := func(settings []setting) string {
		var sql strings.Builder
		for _, s := range settings {
			// Some values are not built in, such as lz4.
			fmt.Fprintf(&sql, "DO $$ BEGIN ALTER DATABASE %s SET %s = '%s'; EXCEPTION WHEN OTHERS THEN NULL; END $$;\n",
				database.Name, s.name, s.value)
		}
		server.Exec(t, sql.String())
		got, err := tryPrinted(t, database, "public.read")
		if err == nil && got == want {
			err = tryFill(t, database, want)
		}
		server.Exec(t, "ALTER DATABASE "+database.Name+" RESET ALL")
		switch filled := printed(t, database, "public.filled"); {
		case err != nil:
			return err.Error()
		case got != want:
			return fmt.Sprintf("%q is read, want %q", got, want)
		case filled != want:
			return fmt.Sprintf("%q is loaded, want %q", filled, want)
		}
		return ""
	}
	for _, round := range hostileSettings(t, database) {
		if check(round) == "" {
			continue
		}
		for _, s := range round { // one of them, or several together
			if wrong := check([]setting{s}); wrong != "" {
				t.Errorf("%s = %s: %s", s.name, s.value, wrong)
			}
		}
		if !t.Failed() {
			t.Errorf("together, these are wrong: %v: %s", round, check(round))
		}
	}
}

// printed returns the CSV of a table as the source prints it, by itself and by the server.
func printed(t *testing.T, database *testkit.PostgresDatabase, table string) string {
	t.Helper()
	text, err := tryPrinted(t, database, table)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func tryPrinted(t *testing.T, database *testkit.PostgresDatabase, table string) (string, error) {
	t.Helper()
	src, err := reading.Open(t.Context(), database.ConnString())
	if err != nil {
		return "", err
	}
	defer src.Close()
	_, err = src.Table(t.Context(), "no name of SQL (")
	if _, ok := errors.AsType[*source.UnknownError](err); !ok {
		return "", fmt.Errorf("an unknown table: %w", err)
	}
	rows, err := src.Table(t.Context(), table)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	encoder, err := format.CSV{}.Encoder(rows.Columns())
	if err != nil {
		return "", err
	}
	var text []byte
	var b source.Batch
	for err == nil {
		if err = rows.Next(&b); err == nil {
			text, err = encoder.AppendRows(text, &b)
		}
	}
	if err != io.EOF {
		return "", err
	}
	if err := rows.Close(); err != nil {
		return "", err
	}
	again, err := src.Table(t.Context(), table)
	if err != nil {
		return "", err
	}
	defer again.Close()
	var server bytes.Buffer
	if _, err := again.(source.CSVWriter).WriteCSV(&server); err != nil {
		return "", err
	}
	if server.String() != string(text) {
		return "", fmt.Errorf("the server prints %q, and the source %q", server.String(), text)
	}
	return string(text), nil
}

// tryFill replaces the rows of the table filled by those of a text, and compares what is read back.
func tryFill(t *testing.T, database *testkit.PostgresDatabase, text string) (err error) {
	t.Helper()
	db := open(t, database.ConnString())
	defer db.Close()
	_, err = db.Table(t.Context(), "no name of SQL (", sink.Filling{})
	if _, ok := errors.AsType[*source.UnknownError](err); !ok {
		return fmt.Errorf("an unknown table: %w", err)
	}
	table, err := db.Table(t.Context(), "public.filled", sink.Filling{Existing: sink.Truncate})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, table.Discard()) }()
	loader := table.Loaders()[0]
	if err := loadText(loader, text); err != nil {
		return err
	}
	if rows, _, err := loader.Sum(); err != nil || rows != 2 {
		return fmt.Errorf("%d rows are read back, %w", rows, err)
	}
	if _, err := loader.Close(); err != nil {
		return err
	}
	return table.Commit()
}
