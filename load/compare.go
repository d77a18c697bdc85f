package load

import (
	"errors"

	"culvert/internal/canonical"
	"culvert/internal/rowsum"
)

// compare compares what was read with the manifest.
func compare(one *piece, got figures) error {
	wrong := &SumError{WantedRows: one.want.Rows, FoundRows: got.rows, Where: "in the file"}
	if got.rows != one.want.Rows {
		return about(one.name, damaged(wrong))
	}
	if one.want.Sum == "" {
		return nil
	}
	want, err := rowsum.Parse(one.want.Sum)
	if err != nil {
		return err
	}
	if want != got.sum {
		wrong.Wanted, wrong.Found = want, got.sum
		return about(one.name, damaged(wrong))
	}
	return nil
}

// readBack compares what the database has with what was loaded.
func (t *filling) readBack(workers []*worker, want figures) error {
	if !want.summed && !t.prep.sent && want.rows > 0 && want.values == (Sum{}) {
		return errors.New("load: only rows that were loaded as CSV have a sum to compare what is read back with")
	}
	switch {
	case t.job.across:
		want.sum = want.values
	case t.prep.sent, t.prep.loaded && (t.prep.csv || t.prep.shows):
		want.sum = want.loaded
	}
	found := SumError{Wanted: want.sum, WantedRows: want.rows, Where: "in the table"}
	if t.job.across {
		found.AsPrinted = canonical.AsPrinted(t.job.columns.types)
	}
	for _, w := range workers {
		rows, sum, err := w.loader.Sum()
		if err != nil {
			return err
		}
		found.FoundRows += rows
		found.Found.Add(sum)
	}
	if found.FoundRows != want.rows || found.Found != want.sum {
		return &found
	}
	return nil
}

// closeAll ends the loaders.
func (t *filling) closeAll() error {
	if t.plan.ReadBack && !t.commitsParts() && len(t.pieces) > 0 { // what the ledger has was read back
		if err := t.readBack(t.workers, t.total); err != nil {
			return err
		}
	}
	for _, w := range t.workers {
		rows, err := w.loader.Close()
		if err != nil {
			return err
		}
		if rows != w.rows {
			return &SumError{WantedRows: w.rows, FoundRows: rows, Where: "in the table"}
		}
	}
	return nil
}
