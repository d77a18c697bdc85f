package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"

	"culvert/export"
	"culvert/format"
	"culvert/manifest"
	"culvert/sink"
	"culvert/source"
)

// Directory loads tables of an export. The map has the names of tables in the manifest, and the names that they have in
// the database, or "" for those of [manifest.Manifest.NameIn]; nil stands for all tables.
//
// All tables are looked up before anything is loaded. If a table fails then or later, the others are still loaded, and
// the error is a [*PartialError]. But nothing is loaded if rows are to be replaced to which tables refer that are not
// replaced with them ([*sink.ReferencedError]), or if two tables would become one. A lost database
// ([source.ErrUnavailable]) and the end of the context end the load. The result has all tables that were tried, in the
// order of the manifest.
//
// If the sink is a [sink.Cloner], up to Loaders tables are loaded at the same time, the largest first. If there are
// fewer tables, each has several loaders. If it is a [sink.Grouper] and a [sink.Planner], one transaction fills several
// small tables; if that fails, each is filled alone. Tables whose rows refer to rows that are not there yet, or whose
// definitions need other tables, are loaded again after the others.
func (p *Plan) Directory(
	ctx context.Context, dst sink.Sink, from *export.Directory, tables map[string]string,
) ([]Stats, error) {
	jobs, err := p.jobsOf(dst, from, tables)
	if err != nil {
		return nil, err
	}
	if p, err = p.withNeeds(ctx, dst, from); err != nil {
		return nil, err
	}
	d, planned, err := p.directory(ctx, dst, from, jobs)
	if err != nil {
		return nil, err
	}
	if err := failures(planned); none(err) {
		return failed(planned), err
	}
	if err := p.provide(ctx, dst, planned); err != nil {
		return nil, err
	}
	expected := int64(0)
	for i := range jobs {
		if jobs[i].columnar {
			p.progress().expectRows(&source.Size{Rows: jobs[i].rows()})
		} else if planned[i].Err == nil {
			jobs[i].expected = jobs[i].text
			expected += jobs[i].text
		}
	}
	p.progress().expected.Store(expected)
	workers := p.workers(dst, len(jobs))
	from.Readers = workers
	if slices.ContainsFunc(jobs, func(j tableJob) bool { return len(j.pieces) > 1 }) {
		from.Readers = p.loaders()
	}
	tasks := p.gather(dst, tasksOf(planned), workers, func(i int) bool {
		return planned[i].Together == nil && len(jobs[i].pieces) == 1 && jobs[i].text <= smallTable
	})
	if workers > 1 {
		text := func(task []int) (all int64) {
			for _, i := range task {
				all += jobs[i].text
			}
			return all
		}
		slices.SortStableFunc(tasks, func(a, b []int) int { return cmp.Compare(text(b), text(a)) })
	}
	return d.run(ctx, planned, tasks, ends{nil, dst}, workers, func() (ends, error) {
		clone, err := dst.(sink.Cloner).Clone(ctx)
		return ends{nil, clone}, err
	})
}

// Preview returns what Directory would do with each table, and changes nothing. The error is the one that Directory
// would return if nothing else failed.
func (p *Plan) Preview(
	ctx context.Context, dst sink.Sink, from *export.Directory, tables map[string]string,
) ([]Planned, error) {
	jobs, err := p.jobsOf(dst, from, tables)
	if err != nil {
		return nil, err
	}
	if p, err = p.withNeeds(ctx, dst, from); err != nil {
		return nil, err
	}
	_, planned, err := p.directory(ctx, dst, from, jobs)
	if err != nil {
		return nil, err
	}
	return planned, failures(planned)
}

// workers returns how many of the tables are filled at the same time.
func (p *Plan) workers(dst sink.Sink, tables int) int {
	if _, clones := dst.(sink.Cloner); !clones {
		return 1
	}
	return max(1, min(p.loaders(), tables))
}

// systemOf returns the system of a sink, or "" if it is not known.
func systemOf(dst sink.Sink) source.Dialect {
	restorer, is := dst.(sink.Restorer)
	for _, system := range []source.Dialect{source.PostgreSQL, source.MySQL, source.MariaDB, source.SQLite} {
		if is && restorer.Restores(system) {
			return system
		}
	}
	return ""
}

// tableJob is a table of an export.
type tableJob struct {
	job
	text    int64 // bytes
	missing error // why it cannot be loaded
}

// jobsOf finds the tables in the manifest.
func (p *Plan) jobsOf(dst sink.Sink, from *export.Directory, tables map[string]string) ([]tableJob, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	m := from.Manifest
	readable, err := FormatOf("table." + m.Format)
	if err == nil && m.CSV != "" {
		readable, _, err = format.ParseDialect(m.CSV)
	}
	if err != nil && p.Columnar[m.Format] == nil {
		return nil, fmt.Errorf("load: rows in the format %s cannot be loaded", m.Format)
	}
	if tables != nil && len(tables) == 0 {
		return nil, errors.New("load: no tables")
	}
	if err := m.Knows(slices.Collect(maps.Keys(tables))); err != nil {
		return nil, err
	}
	// Without Create, tables without rows are left alone, unless they are named or there are no others.
	someRows := slices.ContainsFunc(m.Tables, func(t manifest.Table) bool { return !t.IsDefined() })
	var jobs []tableJob
	var columns []string
	for i := range m.Tables {
		table := &m.Tables[i]
		to, wanted := tables[table.Name]
		if tables != nil && !wanted || tables == nil && !p.Create && someRows && table.IsDefined() {
			continue
		}
		j, err := p.jobOf(from, table, cmp.Or(to, m.NameIn(systemOf(dst), table)), readable)
		j.missing = err
		jobs = append(jobs, j)
		if j.columns != nil {
			jobs[len(jobs)-1].across = p.isAcross(dst, &j.job, len(table.Masks) > 0) ||
				p.ReadBack && j.columnar && systemOf(dst) != ""
			columns = append(columns, j.columns.names...)
		}
	}
	if err := p.checkConvert(columns); err != nil {
		return nil, err
	}
	names, all := namesOfJobs(jobs)
	if err := p.checkTypes(names, all); err != nil {
		return nil, err
	}
	if err := p.checkConversions(all...); err != nil {
		return nil, err
	}
	if len(jobs) > 1 && (p.Columns != nil || p.Rename != nil) {
		return nil, errors.New("load: only a single table can have columns of its own")
	}
	return jobs, nil
}

func namesOfJobs(tables []tableJob) (names []string, jobs []*job) {
	for i := range tables {
		names, jobs = append(names, tables[i].name), append(jobs, &tables[i].job)
	}
	return names, jobs
}

func (p *Plan) jobOf(
	from *export.Directory, table *manifest.Table, to string, readable format.Readable,
) (tableJob, error) {
	written := readable
	if _, is := readable.(format.Dialect); is {
		readable = format.CSV{} // which the text becomes
	}
	j := tableJob{job: job{name: table.Name, to: to, from: readable}}
	if table.Error != "" {
		return j, fmt.Errorf("load: table %q is missing, since its export failed: %s", table.Name, table.Error)
	}
	if table.IsDefined() && !p.Create {
		return j, fmt.Errorf("load: the export has only the definition of table %q, and not its rows", table.Name)
	}
	if p.Create {
		if err := j.make(p.typed(table.Name, table.Definition)); err != nil {
			return j, err
		}
	}
	columnar := p.Columnar[from.Manifest.Format]
	_, j.csv = readable.(format.CSV)
	j.columnar = columnar != nil
	j.shows = !j.csv && !j.columnar
	j.system = source.DialectOf(from.Manifest.System)
	var columns []source.Column
	for i := range table.Columns {
		columns = append(columns, table.Columns[i].Column())
	}
	if j.columnar {
		j.system, columns = source.PostgreSQL, printed(columns)
	}
	var err error
	if j.columns, err = p.withoutGenerated(generatedOf(j.create), columns).match(columns); err != nil {
		return j, err
	}
	j.columns.written = true
	j.generated = generatedOf(table.Definition)
	j.setConverter(p, nameIn(table.Definition, table.Name))
	if j.system.IsDynamic() {
		j.columns.keepText()
	}
	if p.ReadBack && !j.columns.all && len(p.Columns) > 0 {
		return j, fmt.Errorf("load: table %q has columns that are not loaded, so its rows cannot be compared",
			table.Name)
	}
	if p.SchemaOnly {
		return j, nil
	}
	names := namesOf(columns)
	for i := range table.Parts {
		part := &table.Parts[i]
		j.text += part.TextBytes
		j.pieces = append(j.pieces, piece{
			name: part.File, want: part,
			read: func(ctx context.Context, use useRows) error {
				if columnar != nil {
					return p.readColumns(ctx, from, part, columnar, j.columns, use)
				}
				return p.readPart(ctx, from, part, names, written, use)
			},
		})
	}
	return j, nil
}

// readPart verifies a file while its rows are read.
func (p *Plan) readPart(
	ctx context.Context, from *export.Directory, part *manifest.Part, names []string, readable format.Readable,
	use useRows,
) error {
	err := from.ReadPart(ctx, part, func(r io.Reader) error {
		d, isDialect := readable.(format.Dialect)
		if isDialect {
			if d.NoHeader {
				d.Names = names
			}
			var err error
			if r, err = d.Reader(r); err != nil {
				return err
			}
			readable = format.CSV{}
		}
		t, err := openText(r, part.File, readable)
		if err != nil {
			return err
		}
		t.moved = isDialect
		if err := t.mustHave(names); err != nil {
			return err
		}
		return use([]fill{t.fill}, t.header)
	})
	if err == nil {
		return nil
	}
	if _, is := errors.AsType[*fs.PathError](err); is || ctx.Err() != nil {
		return err
	}
	return about(part.File, err)
}

// directory asks the sink what loading each table will do.
func (p *Plan) directory(
	ctx context.Context, dst sink.Sink, from *export.Directory, jobs []tableJob,
) (*pending, []Planned, error) {
	each := *p
	each.Filling.OwnRows = each.Filling.OwnRows || from.Manifest.OwnRows()
	each.beside = p.workers(dst, len(jobs))
	each.Loaders = max(1, p.loaders()/each.beside)
	each.dangling = len(jobs) == 1
	var all []*job
	for i := range jobs {
		jobs[i].grouped = each.links(dst)
		if jobs[i].missing == nil {
			all = append(all, &jobs[i].job)
		}
	}
	each.related = relate(slices.Values(all))
	each.Filling.Linked = len(jobs) > 1 && each.linksCircles(dst)
	d := &pending{plan: &each}
	d.fill = func(ctx context.Context, e ends, i int) (Stats, error) {
		jobs[i].grouped = false
		return each.fill(ctx, e.dst.Table, &jobs[i].job)
	}
	together := each
	together.Filling.EachPart = false
	d.fillTogether = func(ctx context.Context, e ends, task []int) ([]Stats, []error) {
		all := make([]*job, len(task))
		for at, i := range task {
			all[at] = &jobs[i].job
			all[at].grouped = true
		}
		return together.fillTogether(ctx, e.dst, all, func(at int, open opener) (Stats, error) {
			return together.fill(ctx, open, all[at])
		})
	}
	names := make([]string, len(jobs))
	for i := range jobs {
		names[i] = jobs[i].name
	}
	look := func(i int) (sink.Plan, error) {
		j := &jobs[i]
		if j.missing != nil {
			return sink.Plan{Table: j.to}, j.missing
		}
		plan, err := each.look(ctx, dst, &j.job)
		if err == nil {
			err = d.claim(i, &j.job)
		}
		if err != nil {
			plan.Table = j.to
		}
		return plan, err
	}
	each.ask(ctx, dst, all)
	planned, err := each.lookUp(ctx, names, look, func(planned []Planned) error {
		return each.link(ctx, dst, planned, func(i int) *job { return &jobs[i].job }, look)
	})
	each.unrelate(planned, func(i int) *job { return &jobs[i].job })
	return d, planned, err
}
