package fill_test

import (
	"errors"
	"strings"
	"testing"

	"culvert/internal/testkit"
	"culvert/sink"
)

// TestReadOnly finds a database that takes no writes before anything is loaded.
func TestReadOnly(t *testing.T) {
	settings := []string{"wal_level = replica", "max_wal_senders = 4"}
	primary := testkit.NewPostgres(t, testkit.PostgresConfig{Settings: settings})
	database := primary.NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (id int)")
	standby := testkit.NewPostgres(t, testkit.PostgresConfig{Settings: settings, StandbyOf: primary})
	const readOnly = " options='-c default_transaction_read_only=on'"
	for connString, reason := range map[string]string{
		standby.ConnString(database.Name):   "the server is a standby",
		database.ConnString() + readOnly:    "default_transaction_read_only",
		database.ConnString() + " options=": "",
	} {
		db := open(t, connString)
		_, planErr := db.Plan(t.Context(), "t", sink.Filling{})
		_, tableErr := db.Table(t.Context(), "t", sink.Filling{})
		for _, err := range []error{planErr, tableErr} {
			if reason == "" && err != nil ||
				reason != "" && (!errors.Is(err, sink.ErrReadOnly) || !strings.Contains(err.Error(), reason)) {
				t.Errorf("%q: %v", reason, err)
			}
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
