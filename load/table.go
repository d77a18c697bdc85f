package load

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"culvert/convert"
	"culvert/format"
	"culvert/manifest"
	"culvert/mask"
	"culvert/sink"
	"culvert/source"
)

// job is a table to be filled.
type job struct {
	name, to string
	from     format.Readable // of the text of the pieces; nil for batches
	system   source.Dialect  // of the source; "" if not known
	text     bool            // they are a text, whose table cannot be made
	csv      bool            // the text has the lines that are summed up
	columnar bool            // the rows are those of a file of columns, which are summed up by their values
	shows    bool            // so has what the decoder of the text shows
	prints   bool            // the source can print CSV
	sends    bool            // the source can send a binary form of the rows, and nothing needs their values
	masker   *mask.Masker    // of the rows of a source, or nil
	converts *convert.Converter

	conversions []int // of the plan, that are for its columns

	alone   string   // why there will be fewer loaders than wanted
	table   string   // the name of the table as the sink writes it
	object  string   // what identifies the table in the sink
	into    string   // what identifies it among those of all databases, also before it is made
	omitted []string // of the definition
	later   []string // of it, after all tables have their rows
	columns *columns

	generated []string // columns whose values the source has computed, as far as that is known

	create  *source.Definition // nil if the table must exist
	grouped bool               // it is filled with those to which it refers, and those that refer to it
	exists  bool
	across  bool         // what is read back are the values, since the sink is of another system
	padded  []string     // columns to whose texts PostgreSQL adds spaces: see [job.pad]
	answer  *answer      // of the sink, which was asked about several tables at once; nil if it is to be asked
	size    *source.Size // in the source of a copy; nil if it is not known
	pieces  []piece

	expected, kept int64 // bytes: see [filling.expect]
}

// piece is what becomes a part of the table: a file, or all rows.
type piece struct {
	name string
	want *manifest.Part // what the manifest says of it, or nil

	// read calls use with the readers of the rows, and then says whether the rows are what they should be. The context
	// ends a read that waits.
	read func(ctx context.Context, use useRows) error
}

// useRows takes the readers of rows, and the text before them, which counts too.
type useRows func(readers []fill, header []byte) error

// wanted returns how many loaders the table can use. A part that the ledger records has one loader.
func (p *Plan) wanted(j *job) int {
	if p.Rejects != nil && p.Filling.Ledger == nil {
		return 1 // rows with the same key are refused, and do not wait for each other
	}
	if len(j.pieces) == 1 && p.Filling.Ledger == nil {
		return p.loaders()
	}
	return min(p.loaders(), max(1, len(j.pieces)))
}

func (p *Plan) filling(j *job) sink.Filling {
	f := p.Filling
	f.Columns, f.Loaders = j.columns.names, p.wanted(j)
	if f.From = j.system; f.From != "" {
		f.Types = typesOf(j.columns.types)
	}
	if j.across {
		f.Logical = logicalOf(j.columns.types)
	}
	if j.create != nil {
		f.Create, f.Related = j.create, p.related
	}
	if f.Grouped = j.grouped; j.grouped {
		f.EachPart = false // the tables are committed together
	}
	return f
}

// look asks the sink what filling the table will do. It fails as that would.
func (p *Plan) look(ctx context.Context, dst sink.Sink, j *job) (sink.Plan, error) {
	plan, err := p.planned(ctx, dst, j.to, j)
	computed, is := errors.AsType[*sink.ComputedError](err)
	if is && j.converts == nil && len(p.Columns) == 0 && j.columns.skip(computed.Columns, j.generated) {
		plan, err = p.planned(ctx, dst, j.to, j)
	}
	p.learn(dst, j, plan)
	return plan, err
}

// learn keeps what the sink has said.
func (p *Plan) learn(dst sink.Sink, j *job, plan sink.Plan) {
	j.alone, j.table, j.omitted, j.later = plan.Alone, plan.Table, plan.Omitted, plan.Later
	j.object, j.exists = cmp.Or(plan.Object, plan.Table), plan.Exists
	j.into = plan.Database + "\x00" + plan.Table
	if !p.ReadBack || len(plan.Columns) != len(j.columns.types) {
		return
	}
	if systemOf(dst) == j.system {
		j.retype(plan.Columns)
	}
	if systemOf(dst) == source.PostgreSQL {
		j.pad(plan.Columns)
	}
}

// answer is what a sink has said about a table.
type answer struct {
	plan sink.Plan
	err  error
}

// ask asks the sink about several tables at once, if it can. Then planned returns its answers, each once.
func (p *Plan) ask(ctx context.Context, dst sink.Sink, jobs []*job) {
	planner, is := dst.(sink.Planner)
	if !is || len(jobs) < 2 {
		return
	}
	tables := make([]sink.Member, len(jobs))
	for i, j := range jobs {
		tables[i] = sink.Member{Name: j.to, Filling: p.filling(j)}
	}
	plans, errs := planner.Plans(ctx, tables)
	for i, j := range jobs {
		j.answer = &answer{plans[i], errs[i]}
	}
}

// planned returns what the sink says that it would do.
func (p *Plan) planned(ctx context.Context, dst sink.Sink, to string, j *job) (plan sink.Plan, err error) {
	if j.answer != nil {
		plan, err, j.answer = j.answer.plan, j.answer.err, nil
	} else {
		plan, err = dst.Plan(ctx, to, p.filling(j))
	}
	if unknown, is := errors.AsType[*source.UnknownError](err); is && unknown.What == "table" && !j.text {
		err = &MissingTableError{err}
	}
	return plan, err
}

// fill fills one table.
func (p *Plan) fill(ctx context.Context, open opener, j *job) (stats Stats, err error) {
	stats = Stats{Name: j.name, Table: j.to, target: j.table}
	t := &filling{plan: p, job: j, progress: p.progress()}
	defer func() {
		if err != nil {
			stats.Rows, stats.Text = t.takeBack()
			stats.Rejected = t.rejected(true)
			err = errors.Join(err, t.undoRejects(err))
		}
	}()
	f := p.filling(j)
	table, err := open(ctx, j.to, f)
	if err != nil {
		return stats, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, table.Discard())
		}
	}()
	t.table = table
	if err := t.prepare(); err != nil {
		return stats, err
	}
	if j.across {
		if err := t.sumValues(); err != nil {
			return stats, err
		}
	}
	if err := t.sumColumns(); err != nil {
		return stats, err
	}
	stats.Skipped = len(j.pieces) - len(t.pieces)
	for _, loader := range table.Loaders() {
		t.workers = append(t.workers, &worker{loader: loader})
	}
	stats.Loaders, stats.Alone = len(t.workers), p.alone(j, table)
	if err := t.loadAll(ctx); err != nil {
		return stats, err
	}
	if err := t.closeAll(); err != nil {
		return stats, err
	}
	if err := table.Commit(); err != nil {
		return stats, err
	}
	if j.create != nil {
		stats.made = &f
	}
	stats.undo = func(reason error) error {
		t.takeBack()
		return t.undoRejects(reason)
	}
	stats.Omitted, stats.later, stats.Changed = j.omitted, j.later, j.converts.Columns()
	stats.Rejected = t.rejected(false)
	stats.Existed = j.create != nil && j.exists && stats.Skipped == 0
	stats.Rows, stats.Text, stats.Sum, stats.Summed = t.total.rows, t.total.text, t.total.sum, t.total.summed
	return stats, nil
}

// alone returns why there are fewer loaders than wanted, or "".
func (p *Plan) alone(j *job, table sink.Table) string {
	if limited, is := table.(sink.Limited); is && limited.Alone() != "" {
		return limited.Alone()
	}
	if p.Rejects != nil && p.Filling.Ledger == nil && j.alone == "" && p.loaders() > 1 {
		return "rows that are refused are found by one"
	}
	return j.alone
}

// filling is a table that is being filled.
type filling struct {
	plan    *Plan
	job     *job
	table   sink.Table
	pieces  []piece // to be loaded
	workers []*worker
	prep    preparer

	progress *Progress
	counted  amount // in the progress
	kept     amount // of it, committed

	refused int64 // rows that an earlier load has rejected of parts that the ledger has

	mu      sync.Mutex
	total   figures
	rejects []*rejected // of all pieces, in no order
}

// prepare leaves out what the ledger has, and finds how rows become what the loaders take.
func (t *filling) prepare() error {
	loaded := map[string]sink.Part{}
	for _, part := range t.table.Loaded() {
		loaded[part.Name] = part
	}
	for _, one := range t.job.pieces {
		part, done := loaded[one.name]
		if !done {
			t.pieces = append(t.pieces, one)
			continue
		}
		if one.want != nil && (part.Rows > one.want.Rows || part.Sum != one.want.Sum) { // fewer if some were rejected
			return fmt.Errorf("load: the ledger has other figures of the part %q than the manifest", one.name)
		}
		if one.want != nil {
			t.refused += one.want.Rows - part.Rows // by an earlier load, or before the table was begun again
		}
	}
	t.expect()
	c := t.job.columns
	_, dynamic := t.table.(sink.Dynamic)
	c.learn(t.table.Columns(), dynamic)
	t.prep = preparer{
		from: t.job.from, fields: c.fields, csv: t.job.csv, shows: t.job.shows, masker: t.job.masker,
		converter: t.job.converts.For(t.table.Columns()), decoders: make(chan format.Decoder, t.plan.jobs()),
		rejects: t.plan.Rejects != nil,
	}
	text, is := t.table.(sink.TextTable)
	if !is {
		return t.prepareBatches()
	}
	t.prep.table, t.prep.fitter = text, text
	if binary, is := t.table.(sink.BinaryTable); is && t.job.sends && binary.TakesBinary(c.types) {
		t.prep.sent, t.prep.loaded = true, t.plan.ReadBack
		return nil
	}
	// CSV of another program may have quotes and line ends that the database does not print.
	foreign := t.plan.ReadBack && t.job.text
	if text.Format() == (format.CSV{}) && (t.job.csv || t.job.prints) && c.all && t.job.converts == nil && !foreign {
		t.prep.asIs, t.prep.csv, t.prep.from = true, true, format.CSV{}
	}
	if !t.prep.rejects { // rows that are tried again are text
		t.prep.binary, _ = t.table.(sink.BinaryTable)
	}
	var err error
	if t.prep.encoder, err = text.Format().Encoder(c.types); err != nil {
		return err
	}
	if _, csv := text.Format().(format.CSV); csv {
		t.prep.lines, _ = t.prep.encoder.(format.LineEncoder)
		t.prep.loaded = t.plan.ReadBack
	}
	return nil
}

// commitsParts reports whether each piece is committed when it is loaded.
func (t *filling) commitsParts() bool { return t.plan.Filling.EachPart && !t.job.grouped }

// loadAll loads all pieces: one after the other with all loaders, or with a loader for each of several.
func (t *filling) loadAll(ctx context.Context) error {
	teams := [][]*worker{t.workers}
	if len(t.job.pieces) > 1 || t.plan.Filling.Ledger != nil {
		teams = slices.Collect(slices.Chunk(t.workers, 1))
	}
	return share(ctx, teams, t.pieces, t.load)
}

// load loads a piece.
func (t *filling) load(ctx context.Context, workers []*worker, one piece) error {
	got, before, rejects, err := t.read(ctx, workers, &one)
	if err == nil {
		err = t.job.masker.Finish()
	}
	if err != nil {
		return err
	}
	sum := ""
	if got.summed {
		sum = got.sum.String()
	}
	if one.want != nil {
		check := compare
		if t.job.columnar {
			check = t.compareColumns
		}
		if err := check(&one, got); err != nil {
			return err
		}
		sum = one.want.Sum
	}
	if err := t.knownValues(&one, &got); err != nil {
		return err
	}
	if rejects != nil {
		t.takeSifted(workers, &got)
		if err := rejects.commit(); err != nil {
			return err
		}
	}
	t.mu.Lock()
	t.total.add(got)
	t.mu.Unlock()
	if len(workers) > 1 || t.plan.Filling.Ledger == nil {
		return nil
	}
	if t.plan.ReadBack && t.commitsParts() {
		if err := t.readBack(workers, got); err != nil {
			return err
		}
	}
	workers[0].rows = 0
	err = workers[0].loader.EndPart(sink.Part{Name: one.name, Rows: got.rows, Sum: sum})
	if err == nil && t.commitsParts() {
		t.kept.add(got.rows, before+got.text)
		if rejects != nil {
			rejects.kept = true
		}
	}
	return err
}

// read passes the rows of a piece to the loaders. It returns the figures of all of them, the bytes of the header before
// them, and what has taken those that are refused, or nil.
func (t *filling) read(
	ctx context.Context, workers []*worker, one *piece,
) (got figures, before int64, rejects *rejected, err error) {
	jobs := t.plan.jobs()
	if len(t.workers) > len(workers) {
		jobs = 1 // the others keep the cores busy
	}
	reading, stop := context.WithCancel(ctx)
	defer stop()
	err = one.read(reading, func(readers []fill, header []byte) (err error) {
		prep := t.prep
		prep.headerLines = int64(bytes.Count(header, []byte{'\n'}))
		before = int64(len(header))
		t.count(0, before)
		if rejects, err = t.reject(ctx, one, header); err != nil {
			return err
		}
		pl := &pipeline{
			name: one.name, prepare: &prep, workers: workers, jobs: jobs, count: t.count, stop: stop,
			pace: t.plan.Pace, rejected: rejects, dangling: t.plan.dangling, beside: t.plan.beside,
		}
		got, err = pl.run(ctx, readers)
		for _, w := range workers {
			got.add(w.sifted.unread)
		}
		return err
	})
	return got, before, rejects, err
}

// about says which file an error is about.
func about(name string, err error) error { return &fs.PathError{Op: "load", Path: name, Err: err} }

// analyze updates the statistics of a table, by its name as the sink writes it.
func (p *Plan) analyze(ctx context.Context, dst sink.Sink, table string) error {
	analyzer, is := dst.(sink.Analyzer)
	if !p.Analyze || !is {
		return nil
	}
	if err := analyzer.Analyze(ctx, table, p.Filling); err != nil {
		return &statisticsError{err}
	}
	return nil
}

// statisticsError is the error of a table that is committed, but not analyzed.
type statisticsError struct{ err error }

func (e *statisticsError) Error() string {
	return fmt.Sprintf("load: the rows are committed, but the statistics are not updated: %v", e.err)
}

func (e *statisticsError) Unwrap() error { return e.err }

func isCommitted(err error) bool {
	_, is := errors.AsType[*statisticsError](err)
	return err == nil || is
}
