package fill

import (
	"context"

	"culvert/postgres/internal/sqltext"
	"culvert/sink"
)

// sequenceSteps set the sequences of the columns of the rows past all rows of the table, unless they are already.
func (p *plan) sequenceSteps() (steps []string) {
	if p.KeepSequences || p.Create != nil {
		return nil
	}
	t := p.target
	if p.swap != nil {
		t = p.swap.old // of which the new table has the name at the end
	}
	for _, c := range p.columns {
		sequence := t.sequences[c.Name]
		if sequence == "" {
			continue
		}
		last, beyond := "max", ">"
		if sequence[0] == '-' {
			last, beyond = "min", "<"
		}
		sequence = sequence[1:]
		steps = append(steps, "SELECT pg_catalog.setval("+sqltext.Literal(sequence)+", t.n::int8) "+
			"FROM (SELECT pg_catalog."+last+"("+sqltext.Quote(c.Name)+") AS n FROM "+t.sql+") AS t, "+
			sequence+" AS s, pg_catalog.pg_sequence AS q "+
			"WHERE (t.n "+beyond+" s.last_value OR t.n = s.last_value AND NOT s.is_called) "+
			"AND q.seqrelid = "+sqltext.Literal(sequence)+"::pg_catalog.regclass AND t.n BETWEEN q.seqmin AND q.seqmax")
	}
	return steps
}

// setSequences runs these steps. What they do is not undone if the transaction is.
func (s *session) setSequences(ctx context.Context, p *plan) error {
	for _, sql := range p.sequenceSteps() {
		if _, err := s.query(ctx, 1, sql); err != nil {
			return s.failed(ctx, "setting a sequence: "+sink.Shorten(sql), err)
		}
	}
	return nil
}
