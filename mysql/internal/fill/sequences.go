package fill

import (
	"strconv"

	"culvert/mysql/internal/catalog"
	"culvert/mysql/internal/wire"
	"culvert/sink"
)

// lastSQL returns the statement that finds the last number of a column of the table that its sequence can have. The
// server sets a sequence never back, and does not undo it with the transaction.
func (p *plan) lastSQL(c column) string {
	name := catalog.Quote(c.Name)
	return "SELECT t.n FROM (SELECT IF((SELECT increment FROM " + c.Draws + ") < 0, MIN(" + name + "), MAX(" + name +
		")) AS n FROM " + p.target.SQL() + ") AS t, " + c.Draws + " AS s " +
		"WHERE t.n BETWEEN s.minimum_value AND s.maximum_value"
}

// drawing returns the columns of the rows that have numbers of sequences to be set.
func (p *plan) drawing() (columns []column) {
	for _, c := range p.columns {
		if c.Draws != "" && !p.KeepSequences && p.Create == nil {
			columns = append(columns, c)
		}
	}
	return columns
}

// sequenceSteps are the statements that set sequences past the rows.
func (p *plan) sequenceSteps() (steps []string) {
	for _, c := range p.drawing() {
		steps = append(steps, p.lastSQL(c), "SELECT SETVAL("+c.Draws+", …, 1)")
	}
	return steps
}

// setSequences sets the sequences of the columns of the rows past the rows that the transaction sees, unless they are
// already. Those that the user may not read or set stay as they are.
func (t *table) setSequences() error {
	for _, c := range t.drawing() {
		found, err := t.db.conn.Query(t.ctx, 1, t.lastSQL(c))
		if err == nil && len(found) == 1 {
			last, isNumber := strconv.ParseInt(found[0][0], 10, 64)
			if isNumber != nil {
				continue
			}
			_, err = t.db.conn.Query(t.ctx, 1, "SELECT SETVAL("+c.Draws+", "+strconv.FormatInt(last, 10)+", 1)")
		}
		switch wire.ErrorNumber(err) {
		case 1142, 1143: // ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR
			continue
		}
		if err != nil {
			return t.db.failed(t.ctx, "setting the sequence "+sink.Shorten(c.Draws), err)
		}
	}
	return nil
}
