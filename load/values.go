package load

import (
	"slices"
	"strings"

	"culvert/format"
	"culvert/internal/canonical"
	"culvert/internal/rowsum"
	"culvert/internal/typename"
	"culvert/sink"
	"culvert/source"
)

// values says how rows of another system are summed up by their values, since the table prints them in other texts. The
// zero value sums up only text.
type values struct {
	read   *canonical.Types   // of the rows that are read, or nil
	loaded *canonical.Types   // of the rows that are loaded, which are to be compared instead; or nil
	lines  format.LineEncoder // of rows that are only summed up
}

// areRead reports whether it is the values that are read which are compared.
func (v *values) areRead() bool { return v.read != nil && v.loaded == nil }

// begin makes a block ready for rows.
func (v *values) begin(b *block) {
	b.sum.Reset(v.read)
	b.loaded.Reset(v.loaded)
}

// add adds the rows of a batch as they are read.
func (v *values) add(b *block, batch *source.Batch) (err error) {
	b.scratch, err = v.lines.AppendLines(b.scratch[:0], batch, pieceSize, &b.sum, drop)
	b.summed = true
	return err
}

// pieceSize is the size of the pieces in which lines are made only for their sum, so that the text of a large row is
// never in memory as a whole.
const pieceSize = 16 << 10

// drop is what becomes of such a piece.
func drop(text []byte) ([]byte, error) { return text[:0], nil }

// valuesOf returns the sum of the values of a block.
func (p *preparer) valuesOf(b *block) Sum {
	if p.values.loaded != nil && (p.csv || p.shows) {
		return b.loaded.Canonical
	}
	return b.sum.Canonical
}

// isAcross reports whether rows are read back by their values. They are if the logical types are known, and if the sink
// is of another system than the source, or has other types, or the rows were masked, so that no database has printed
// them.
func (p *Plan) isAcross(dst sink.Sink, j *job, masked bool) bool {
	to := systemOf(dst)
	if !p.ReadBack || to == "" || j.system == "" || to == j.system && len(p.Types) == 0 && !masked {
		return false
	}
	for _, c := range j.columns.types {
		if !c.Logical.IsZero() {
			return true
		}
	}
	return false
}

// retype has the rows compared by their values if a column of the table has another type than in the source, as of the
// same system: numeric(10,4) prints 1.5 as 1.5000, and numeric(10,2) as 1.50.
func (j *job) retype(columns []source.Column) {
	for i, c := range columns {
		from := &j.columns.types[i]
		if from.Type != "" && from.Type != c.Type && !from.Logical.IsZero() {
			j.across = true
		}
	}
}

// pad marks the columns of a table of PostgreSQL that add spaces to texts, up to another length than in the source.
// Their texts are compared by value.
func (j *job) pad(columns []source.Column) {
	types := slices.Clone(j.columns.types)
	for i, c := range columns {
		base, modifiers := typename.Cut(c.Type)
		base, isList := strings.CutSuffix(base, "[]")
		if len(modifiers) != 1 || !slices.Contains([]string{"character", "char", "bpchar"}, base) {
			continue
		}
		length, from := modifiers[0], &types[i].Logical
		switch {
		case from.List != isList || from.Class == source.CharClass && from.Length == length:
			continue
		case from.Class == source.CharClass:
			length = max(length, from.Length)
		}
		*from = source.Type{Class: source.CharClass, Length: length, List: isList}
		j.padded = append(j.padded, j.columns.names[i])
		j.across = true
	}
	j.columns.types = types
}

// logicalOf returns the types of the values of columns.
func logicalOf(columns []source.Column) []source.Type {
	types := make([]source.Type, len(columns))
	for i, c := range columns {
		types[i] = c.Logical
	}
	return types
}

// maskedNames returns the names of the columns that are masked, as the table has them, if none is left out.
func (j *job) maskedNames() (names []string) {
	masked := j.masker.Columns()
	for i, field := range j.columns.fields {
		if slices.Contains(masked, field.Name) {
			names = append(names, j.columns.names[i])
		}
	}
	return names
}

// sumValues has the rows summed up by their values, unless the sum of an export has them already. If columns may change
// values, or some are left out, the rows are compared as they are loaded. Rows of a file of columns are, too, if the
// table pads values: otherwise, padded values would be compared with the sum of the manifest.
func (t *filling) sumValues() error {
	c := t.job.columns
	isPadded := len(t.job.padded) > 0
	loaded := len(t.plan.Filling.Convert) > 0 || t.job.converts != nil || t.plan.Rejects != nil || !c.all ||
		isPadded && t.job.columnar
	if !loaded && !isPadded && t.valuesKnown() {
		return nil
	}
	v := &t.prep.values
	if c.all {
		changed := append(t.job.maskedNames(), t.job.padded...)
		if v.read = canonical.TypesOf(c.types, t.job.printer(), changed...); t.job.shows {
			v.read = canonical.KeptTypesOf(c.types, t.job.system, changed...)
		}
	}
	if loaded {
		v.loaded = canonical.TypesOf(c.types, "")
		t.prep.loaded = true
		if !t.job.csv && !t.job.shows {
			v.read = v.loaded // the sum of a batch is that of what it becomes
		}
	}
	return t.setLines(&t.prep.values.lines)
}

// prepareBatches prepares rows that loaders take as batches, or as what can be made of CSV at once. If they are read
// back, they are summed up as if they became CSV.
func (t *filling) prepareBatches() error {
	if !t.plan.ReadBack {
		if table, is := t.table.(sink.CSVTable); is && t.job.csv && t.job.converts == nil {
			t.prep.direct = table.FromCSV(t.job.columns.fields)
		}
		return nil
	}
	t.prep.loaded = true
	t.prep.fitter, _ = t.table.(sink.Fitter)
	return t.setLines(&t.prep.lines)
}

// setLines has lines that are summed up made as CSV.
func (t *filling) setLines(lines *format.LineEncoder) error {
	encoder, err := format.CSV{}.Encoder(t.job.columns.types)
	if err != nil {
		return err
	}
	*lines = encoder.(format.LineEncoder)
	return nil
}

// printer returns the system that has printed the values, or "" if it is none, as for those of a file of columns.
func (j *job) printer() source.Dialect {
	if j.columnar {
		return ""
	}
	return j.system
}

// valuesKnown reports whether the manifest has the sum of the values of all pieces.
func (t *filling) valuesKnown() bool {
	for _, one := range t.pieces {
		if one.want == nil || one.want.Canonical == "" {
			return false
		}
	}
	return true
}

// knownValues sets the sum of the values of a piece to the one of the manifest, if nothing else is known of them.
func (t *filling) knownValues(one *piece, got *figures) (err error) {
	if t.job.across && t.prep.values == (values{}) && one.want != nil && one.want.Canonical != "" {
		got.values, err = rowsum.Parse(one.want.Canonical)
	}
	return err
}
