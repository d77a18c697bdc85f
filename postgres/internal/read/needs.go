package read

import (
	"context"
	"slices"
	"strings"

	"culvert/postgres/internal/needs"
	"culvert/source"
)

var _ source.Needer = (*DB)(nil)

// Needs returns what tables need: schemas of other things, extensions, types, collations, free sequences with their
// positions as they are now, and functions of defaults, checks, generated columns and indexes. What only the text of a
// function names is not known to the server, unless the text is SQL that it has parsed.
func (db *DB) Needs(ctx context.Context, tables []string) (*source.Schema, error) {
	if err := db.begin(ctx); err != nil {
		return nil, err
	}
	s := db.session
	known := map[string]string{}
	for some := range slices.Chunk(tables, preparedAtOnce) {
		found, err := db.find(ctx, some)
		if err != nil {
			return nil, err
		}
		db.known.keepFound(found)
		for _, one := range found {
			known[one.name] = one.relation.oid
		}
	}
	oids := make([]string, len(tables))
	for i, name := range tables {
		if oids[i] = known[name]; oids[i] != "" {
			continue
		}
		r, err := s.findRelation(ctx, name)
		if err != nil {
			return nil, err
		}
		oids[i] = r.oid
	}
	const doing = "reading what the tables need"
	found, err := s.withoutJIT(ctx, needs.Columns, needs.ClosureSQL, "{"+strings.Join(oids, ",")+"}")
	if err != nil {
		return nil, s.failed(ctx, doing, err)
	}
	schema, err := needs.Schema(found, tables)
	if err != nil {
		return nil, s.failed(ctx, doing, err)
	}
	return schema, s.failed(ctx, doing, s.setPositions(ctx, schema))
}

// setPositions adds a statement for each sequence that is made, which sets its position.
func (s *session) setPositions(ctx context.Context, schema *source.Schema) error {
	const kind = "sequence "
	var sequences []*source.Sequence
	of := map[string]*source.Sequence{}
	for _, one := range schema.Statements {
		if name, is := strings.CutPrefix(one.Object, kind); is && of[one.Object] == nil {
			of[one.Object] = &source.Sequence{Name: name}
			sequences = append(sequences, of[one.Object])
		}
	}
	for some := range slices.Chunk(sequences, sequencesAtOnce) {
		if err := s.readSequences(ctx, some); err != nil {
			return err
		}
	}
	numbers, err := s.numberedBy(ctx, sequences, s.own)
	if err != nil {
		return err
	}
	var all []source.Statement
	for i, one := range schema.Statements {
		all = append(all, one)
		sequence := of[one.Object]
		if sequence == nil || i+1 < len(schema.Statements) && schema.Statements[i+1].Object == one.Object {
			continue
		}
		if one.SQL = setPositionSQL(sequence); one.SQL == "" {
			schema.Lacks = append(schema.Lacks, "the position of the sequence "+sequence.Name)
			continue
		}
		one.Tells = numbers[sequence.Name]
		all = append(all, one)
	}
	schema.Statements = all
	return nil
}

// withoutJIT is query for a large statement that does little, which the server would compile for seconds.
func (s *session) withoutJIT(ctx context.Context, columns int, sql string, parameters ...string) ([][][]byte, error) {
	const off = "SELECT current_setting('jit'), set_config('jit', 'off', true)"
	was, err := s.query(ctx, 2, off)
	if err == nil && len(was) != 1 {
		err = errAnswer
	}
	if err != nil {
		return nil, err
	}
	found, err := s.query(ctx, columns, sql, parameters...)
	if err != nil {
		return nil, err // after which the settings are undone with all else
	}
	_, err = s.query(ctx, 1, "SELECT set_config('jit', $1, true)", string(was[0][0]))
	return found, err
}
