package load

import (
	"context"
	"errors"
	"slices"

	"culvert/sink"
	"culvert/source"
)

// smallTable is the most text, in bytes, of a table that is filled in one transaction with others. The transaction of a
// larger one costs little beside its rows.
const smallTable = 1 << 20

// gatheredTables is the most tables of a transaction. It bounds how many locks it holds, and what is to be done again
// if it fails. More would hardly save time.
const gatheredTables = 64

// gather has one transaction fill several small tables, if the sink can and if they lose nothing: with the same figures
// and checks for each, and one by one if that fails. The tables of others tasks stay as they are.
func (p *Plan) gather(dst sink.Sink, tasks [][]int, workers int, isSmall func(i int) bool) (gathered [][]int) {
	_, groups := dst.(sink.Grouper)
	_, plans := dst.(sink.Planner)
	f := p.Filling
	// Deferred triggers may change rows after they are read back.
	if !groups || !plans || f.Existing == sink.Swap || f.Conflict != sink.Fail || p.ReadBack && !p.fresh ||
		p.Rejects != nil {
		return tasks
	}
	var small []int
	for _, task := range tasks {
		if len(task) == 1 && isSmall(task[0]) {
			small = append(small, task[0])
		} else {
			gathered = append(gathered, task)
		}
	}
	if len(small) < 2 {
		return tasks // in their order
	}
	most := min(gatheredTables, (len(small)+workers-1)/workers) // none of the workers should be idle
	for some := range slices.Chunk(small, max(1, most)) {
		gathered = append(gathered, some)
	}
	return gathered
}

// isGathered reports whether the tables of a task are filled in one transaction only because they are small.
func (p *pending) isGathered(task []int) bool {
	return len(task) > 1 && p.planned[task[0]].Together == nil
}

// failsGathered reports whether small tables that were filled in one transaction are to be filled one by one. An error
// that would end the work in any case is not such a failure.
func (p *pending) failsGathered(ctx context.Context, task []int) bool {
	for _, i := range task {
		err := p.stats[i].Err
		if ctx.Err() != nil || errors.Is(err, source.ErrUnavailable) || errors.Is(err, sink.ErrUnconfirmed) {
			return false
		}
	}
	return p.stats[task[0]].Err != nil
}
