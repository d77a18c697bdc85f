package export_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"

	_ "github.com/ncruces/go-sqlite3/driver"

	"culvert/export"
	"culvert/source"
	"culvert/sqldb"
)

// A query with an argument is given as the function that runs it.
func ExamplePlan_Rows() {
	db, err := sql.Open("sqlite3", ":memory:")
	if err != nil {
		fmt.Println(err)
		return
	}
	plan := export.Plan{Compression: export.None, Unencrypted: true}
	stats, err := plan.Rows(context.Background(), os.Stdout, func(ctx context.Context) (source.Rows, error) {
		return sqldb.Rows(ctx, func(ctx context.Context) (*sql.Rows, error) {
			return db.QueryContext(ctx, "SELECT value AS id FROM json_each(?)", "[7, 8]")
		})
	})
	fmt.Println(stats.Rows, "rows", err, db.Close())
	// Output:
	// id
	// 7
	// 8
	// 2 rows <nil> <nil>
}
