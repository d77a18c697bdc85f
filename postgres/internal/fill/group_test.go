package fill_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"culvert/postgres/internal/fill"
	"culvert/sink"
)

// fillGroup fills tables together, by the text of their rows. It returns the first error.
func fillGroup(t *testing.T, db *fill.DB, f sink.Filling, tables map[string]string) (err error) {
	t.Helper()
	members := membersOf(f, slices.Collect(maps.Keys(tables))...)
	group, err := db.Group(t.Context(), members)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, group.Discard()) }()
	for _, i := range group.Order() {
		table, err := group.Table(i)
		if err != nil {
			return err
		}
		loader := table.Loaders()[0]
		if err := loadText(loader, tables[members[i].Name]); err != nil {
			return err
		}
		if _, err := loader.Close(); err != nil {
			return err
		}
		if err := table.Commit(); err != nil {
			return err
		}
	}
	return group.Commit()
}

func membersOf(f sink.Filling, names ...string) (members []sink.Member) {
	for _, name := range names {
		members = append(members, sink.Member{Name: name, Filling: f})
	}
	return members
}

// TestGroupKeyNames defers a key whose name others have too, which are not deferrable.
func TestGroupKeyNames(t *testing.T) {
	db, database := openNew(t, `CREATE TABLE node (id int PRIMARY KEY, parent int CONSTRAINT fk_parent REFERENCES node);
		CREATE TABLE tag (id int PRIMARY KEY, parent int CONSTRAINT fk_parent REFERENCES tag)`)
	err := fillGroup(t, db, sink.Filling{Existing: sink.Truncate}, map[string]string{"node": "1,2\n2,1\n"})
	if err != nil {
		t.Error(err)
	}
	expectCount(t, database, "node", "2")
}

// TestGroupIdle has the server end the session before a group is planned. The one that takes its place is in no
// transaction after that, which would keep VACUUM from its work.
func TestGroupIdle(t *testing.T) {
	db, database := openNew(t, "CREATE TABLE t (n int)")
	database.EndSessions(t, "true")
	if _, err := db.PlanGroup(t.Context(), membersOf(sink.Filling{}, "t")); err != nil {
		t.Fatal(err)
	}
	open := database.Query(t, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND state LIKE 'idle in%'`)[0][0]
	if open != "0" {
		t.Error("the session is still in a transaction")
	}
}

// TestGroupSwapSteps plans a swap with the keys of other tables, and their comments.
func TestGroupSwapSteps(t *testing.T) {
	db, _ := openNew(t, `CREATE TABLE t (id int PRIMARY KEY); CREATE TABLE a (t int CONSTRAINT a_to_t REFERENCES t);
		CREATE TABLE b (t int CONSTRAINT b_to_t REFERENCES t); COMMENT ON CONSTRAINT a_to_t ON a IS 'why'`)
	plan, err := db.PlanGroup(t.Context(), membersOf(sink.Filling{Existing: sink.Swap}, "t"))
	if err != nil {
		t.Fatal(err)
	}
	steps := strings.Join(slices.Concat(plan.Steps...), "\n") + "\n"
	comment := "COMMENT ON CONSTRAINT a_to_t ON public.a IS 'why'\n"
	if strings.Count(steps, comment) != 1 || strings.Contains(steps, "\n\n") {
		t.Errorf("the steps are\n%s", steps)
	}
}
