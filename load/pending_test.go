package load_test

import (
	"slices"
	"testing"

	"culvert/export"
	"culvert/load"
	"culvert/sink"
	"culvert/source"
)

// TestMadeInAnyOrder makes tables whose definitions need tables that come later: their sequence, and their type.
func TestMadeInAnyOrder(t *testing.T) {
	t.Parallel()
	const definitions = `CREATE TABLE z (id serial, t text); CREATE TABLE y (zs z[]);
		CREATE TABLE a (id int DEFAULT nextval('z_id_seq'), whole y, z regclass DEFAULT 'z');
		INSERT INTO z (t) VALUES ('one'); INSERT INTO y VALUES ('{"(7,seven)"}');
		INSERT INTO a (whole) SELECT y FROM y`
	names := []string{"a", "y", "z"}
	from, _ := newPostgres(t, definitions)
	src := func() source.Source { return openPostgres(t, from) }
	backup := newBackupOf(t, src(), export.Plan{}, 0, names...)
	to, dst := newPostgres(t, "")
	for _, loaders := range []int{1, 2} {
		for _, way := range []string{"Directory", "CopyTables"} {
			to.Exec(t, emptySchema)
			plan := load.Plan{Create: true, Loaders: loaders, Filling: sink.Filling{Redact: loaders == 2}}
			_, stats, err := fourWays(t, plan, dst, src, backup, names...)[way]()
			if err != nil {
				t.Fatalf("%s: %+v, %v", way, stats, err)
			}
			const read = "SELECT a, y, z, nextval('z_id_seq') FROM a, y, z"
			if got, want := to.Query(t, read)[0], from.Query(t, read)[0]; !slices.Equal(got[:3], want[:3]) {
				t.Errorf("%s: the rows are %q instead of %q", way, got, want)
			}
		}
	}
}
