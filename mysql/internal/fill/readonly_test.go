package fill_test

import (
	"errors"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/sink"
)

// TestReadOnly finds a server that takes no writes of the user before anything is loaded. Some users may write to it.
func TestReadOnly(t *testing.T) {
	server := testkit.NewMariaDB(t, testkit.MariaDBConfig{})
	database := server.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (id int)")
	database.Exec(t, "CREATE USER reader@localhost")
	database.Exec(t, "GRANT ALL ON "+database.Name+".* TO reader@localhost")
	for _, test := range []struct {
		user, readOnly string
		refused        bool
	}{{"reader", "ON", true}, {"root", "ON", false}, {"reader", "OFF", false}} {
		database.Exec(t, "SET GLOBAL read_only = "+test.readOnly)
		db := openURL(t, strings.Replace(database.URL(), "root@", test.user+"@", 1))
		_, planErr := db.Plan(t.Context(), "t", sink.Filling{})
		_, tableErr := db.Table(t.Context(), "t", sink.Filling{})
		for _, err := range []error{planErr, tableErr} {
			if errors.Is(err, sink.ErrReadOnly) != test.refused || !test.refused && err != nil {
				t.Errorf("%v: %v", test, err)
			}
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
