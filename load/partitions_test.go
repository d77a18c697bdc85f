package load_test

import (
	"fmt"
	"testing"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/load"
	"culvert/postgres"
)

// leaves makes a table with as many partitions, below ten others.
func leaves(count int) string {
	return fmt.Sprintf(`CREATE TABLE many (id int, v text, PRIMARY KEY (id)) PARTITION BY RANGE (id);
	DO $$ BEGIN FOR i IN 0..9 LOOP
		EXECUTE format('CREATE TABLE many_%%s PARTITION OF many FOR VALUES FROM (%%s) TO (%%s)
			PARTITION BY RANGE (id)', i, i * 10000, (i + 1) * 10000);
		FOR j IN 0..%[1]d - 1 LOOP
			EXECUTE format('CREATE TABLE many_%%s_%%s PARTITION OF many_%%s FOR VALUES FROM (%%s) TO (%%s)',
				i, j, i, i * 10000 + j * 10000 / %[1]d, i * 10000 + (j + 1) * 10000 / %[1]d);
		END LOOP;
	END LOOP; END $$;`, count/10)
}

// TestThousandPartitions exports and loads a table with 200 leaves, in the long form a thousand, whole and in parts, by
// one connection and by several.
func TestThousandPartitions(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	server := testkit.NewPostgres(t, testkit.PostgresConfig{Settings: []string{"max_locks_per_transaction = 1024"}})
	count := 200
	if testkit.Soak() {
		count = 1000
	}
	from, to := server.NewDatabase(t), server.NewDatabase(t)
	from.Exec(t, leaves(count)+"INSERT INTO many SELECT i, 'row ' || i FROM generate_series(0, 99999) i")
	to.Exec(t, leaves(count))
	src, err := postgres.OpenSource(t.Context(), from.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, src)
	dst, err := postgres.OpenSink(t.Context(), to.ConnString())
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, dst)
	for _, test := range []struct {
		partSize int64
		loaders  int
	}{{0, 1}, {256 << 10, 3}} {
		backup := newBackupOf(t, src, export.Plan{}, test.partSize, "many")
		to.Exec(t, "TRUNCATE many")
		plan := load.Plan{Loaders: test.loaders, ReadBack: true}
		stats, err := plan.Directory(t.Context(), dst, backup.Directory, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(stats) != 1 || stats[0].Rows != 100_000 || stats[0].Loaders != test.loaders {
			t.Errorf("%d loaders: %+v", test.loaders, stats)
		}
		if got := to.Query(t, "SELECT count(DISTINCT tableoid) FROM many")[0][0]; got != fmt.Sprint(count) {
			t.Errorf("%s leaves have rows", got)
		}
	}
}
