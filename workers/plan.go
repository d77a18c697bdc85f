package workers

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"culvert/source"
	"culvert/workers/internal/queue"
)

// chunkParts is the number of cuts in a chunk, the last one aside. Cuts by a primary key contain its values, so a chunk
// may reach [queue.MaxData] if these are long; then the note is refused.
const chunkParts = 500

// writePlan notes the parts of a table, unless another coordinator has done so. It returns the plan that is valid.
// Revision is that of the plan to be replaced, or 0.
func writePlan(
	ctx context.Context, job *queue.Job, table int, parts []source.Part, note tableNote, revision uint64,
) (tableNote, error) {
	name := make([]byte, 8)
	_, _ = rand.Read(name) // it never fails
	note.Plan = hex.EncodeToString(name)
	note.Parts, note.Chunks = len(parts), (len(parts)+chunkParts-1)/chunkParts
	if len(parts) > 0 {
		note.Part = parts[0]
		note.Part.Range, note.Part.Bytes, note.Part.Rows = source.Range{}, 0, 0
	}
	for chunk := range note.Chunks {
		cuts := make([]cut, 0, chunkParts)
		for _, p := range parts[chunk*chunkParts : min((chunk+1)*chunkParts, len(parts))] {
			cuts = append(cuts, cut{p.Range, p.Bytes, p.Rows})
		}
		if err := job.Create(ctx, chunkKey(note.Plan, table, chunk), encode(cuts)); err != nil {
			return note, fmt.Errorf("workers: the parts of table %q: %w", note.Part.Table, err)
		}
	}
	_, err := job.Update(ctx, tableKey(table), encode(note), revision)
	if errors.Is(err, queue.ErrReplaced) {
		err = read(ctx, job, tableKey(table), &note)
	}
	return note, err
}

// readCuts returns all cuts of a table.
func readCuts(ctx context.Context, job *queue.Job, table int, note tableNote) ([]cut, error) {
	all := make([]cut, 0, note.Parts)
	var before source.Range
	for chunk := range note.Chunks {
		var cuts []cut
		if err := read(ctx, job, chunkKey(note.Plan, table, chunk), &cuts); err != nil {
			return nil, err
		}
		for _, c := range cuts {
			// Neighbours share their texts, of which there may be a hundred thousand.
			if c.Range.By == before.By {
				c.Range.By = before.By
			}
			if c.Range.From == before.To {
				c.Range.From = before.To
			}
			before = c.Range
			all = append(all, c)
		}
	}
	if len(all) != note.Parts {
		return nil, fmt.Errorf("workers: the plan of table %q has %d parts, and should have %d", note.Part.Table,
			len(all), note.Parts)
	}
	return all, nil
}

// errOtherPlan means that a task belongs to a plan that is no longer valid.
var errOtherPlan = errors.New("workers: the task belongs to another plan")

// plans are the plans that the sessions of a worker use, as far as they were needed lately.
type plans struct {
	job *queue.Job
	run string // of the job

	mu     sync.Mutex
	tables map[string]tableNote // by the plan's name
	chunks map[string][]cut     // by the key
}

// maxChunks bounds the memory of plans: tasks come in order, so few chunks are in use.
const maxChunks = 16

// forget lets a plan be read again, since it may have been replaced.
func (p *plans) forget(plan string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.tables, plan)
}

// part returns what a task stands for. The error is ErrNoJob if it belongs to a later job of the same name: that has
// other settings.
func (p *plans) part(ctx context.Context, id taskID) (part source.Part, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	note, known := p.tables[id.plan]
	if !known {
		if err := read(ctx, p.job, tableKey(id.table), &note); err != nil {
			return part, err
		}
		if note.Run != p.run {
			return part, queue.ErrNoJob
		}
		if note.Plan != id.plan {
			return part, errOtherPlan
		}
		if p.tables == nil || len(p.tables) >= maxChunks {
			p.tables = map[string]tableNote{}
		}
		p.tables[id.plan] = note
	}
	if id.number >= note.Parts {
		return part, errOtherPlan
	}
	key := chunkKey(id.plan, id.table, id.number/chunkParts)
	cuts, known := p.chunks[key]
	if !known {
		if err := read(ctx, p.job, key, &cuts); err != nil {
			return part, err
		}
		if p.chunks == nil || len(p.chunks) >= maxChunks {
			p.chunks = map[string][]cut{}
		}
		p.chunks[key] = cuts
	}
	if id.number%chunkParts >= len(cuts) {
		return part, errOtherPlan
	}
	return note.part(cuts[id.number%chunkParts]), nil
}
