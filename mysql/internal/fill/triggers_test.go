package fill_test

import (
	"errors"
	"testing"

	"culvert/internal/testkit"
	"culvert/sink"
)

// TestTriggersOff refuses a table with triggers, which the server cannot switch off, and takes one without.
func TestTriggersOff(t *testing.T) {
	database := testkit.MariaDB(t).NewDatabase(t)
	database.Exec(t, "CREATE TABLE t (id int)")
	db := open(t, database)
	off := sink.Filling{TriggersOff: true}
	if _, err := db.Plan(t.Context(), "t", off); err != nil {
		t.Errorf("a table without triggers: %v", err)
	}
	database.Exec(t, "CREATE TRIGGER one BEFORE INSERT ON t FOR EACH ROW SET NEW.id = 1")
	if _, err := db.Plan(t.Context(), "t", off); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a table with triggers: %v", err)
	}
}
