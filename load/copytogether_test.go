package load_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"culvert/internal/testkit"
	"culvert/load"
	"culvert/mysql"
	"culvert/source"
)

// countedSource counts the connections that were taken beside the first.
type countedSource struct {
	*mysql.Source
	taken atomic.Int32
}

func (s *countedSource) Beside(n int) ([]source.Source, *source.IndivisibleError) {
	beside, fewer := s.Source.Beside(n)
	s.taken.Add(int32(len(beside)))
	return beside, fewer
}

// TestCopyTablesOfOneMoment copies tables at the same time over connections that were opened together, with the rows of
// that moment.
func TestCopyTablesOfOneMoment(t *testing.T) {
	from := testkit.MariaDB(t).NewDatabase(t)
	var tables []load.Names
	for i := range 4 {
		name := fmt.Sprint("t", i)
		from.Exec(t, "CREATE TABLE "+name+" (i int PRIMARY KEY) AS SELECT seq AS i FROM seq_1_to_3000")
		tables = append(tables, load.Names{From: name, To: name})
	}
	for name, open := range map[string]func(t *testing.T) side{"postgres": postgresSide, "mariadb": mariaDBSide} {
		for connections, taken := range map[int]int32{1: 0, 3: 2} {
			t.Run(fmt.Sprint(name, connections), func(t *testing.T) {
				to := open(t)
				config := mysql.SourceConfig{Connections: connections, LockWait: time.Minute}
				db, err := config.Open(t.Context(), from.URL())
				if err != nil {
					t.Fatal(err)
				}
				defer closing(t, db)
				from.Exec(t, "DELETE FROM t1 WHERE i <= 10")
				src := &countedSource{Source: db}
				plan := load.Plan{Loaders: 3, ReadBack: true, Create: true}
				stats, err := plan.CopyTables(t.Context(), to.dst, src, tables)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range stats {
					if s.Rows != 3000 {
						t.Errorf("%s has %d rows", s.Table, s.Rows)
					}
				}
				if src.taken.Load() != taken {
					t.Errorf("%d connections were taken beside the first, want %d", src.taken.Load(), taken)
				}
				from.Exec(t, "INSERT INTO t1 SELECT seq FROM seq_1_to_10")
			})
		}
	}
}
