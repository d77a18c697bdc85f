package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/jobs"
	"culvert/internal/tablechoice"
	"culvert/source"
	"culvert/workers"
)

// When an export is resumed, patterns may choose other tables than before, or follow other foreign keys. So the
// settings of a job have a hash of what the patterns have chosen.

// lookAhead finds out which tables patterns choose and what is masked of them, for an export whose coordinator opens
// the database later, and not for each process.
func (e *coordination) lookAhead(ctx context.Context, which *jobs.Choice) (err error) {
	if !e.options.masks.Given() && !e.options.choice.Given() {
		return nil
	}
	src, err := e.options.openOne(ctx, e.db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if err := e.choose(ctx, src, e.app); err != nil {
		return e.db.Explain(err)
	}
	e.hash = hashOf(e.chosen)
	which.Chosen = e.hash
	if !e.options.masks.Given() && !e.flags().resumes() {
		return nil // the coordinator finds the same
	}
	// A coordinator that begins reads the schema again, in its own snapshot. It keeps only what is chosen and masked.
	look, plan := *e.request, *e.plan
	look.plan = &plan
	names, err := look.namesWithSchema(ctx, src)
	if err == nil {
		err = look.mask(ctx, e.app, src, names)
	}
	e.masked, e.meant, e.plan.Masks, e.plan.Choices = look.masked, names, plan.Masks, plan.Choices
	return e.db.Explain(err)
}

// checkChosen refuses a snapshot in which patterns choose other tables than those that were found before.
func (e *coordination) checkChosen(ctx context.Context, src source.Source) error {
	if e.chosen == nil {
		return nil
	}
	chosen, err := e.chosenOf(ctx, src)
	if err == nil && hashOf(chosen) != e.hash {
		err = errors.New("the tables that patterns choose have changed meanwhile: begin again")
	}
	return err
}

// hashOf returns a hash of what patterns have chosen, or "" if there are none.
func hashOf(chosen *tablechoice.Result) string {
	if chosen == nil {
		return ""
	}
	text, err := json.Marshal(struct {
		Names   []string                 `json:"names"`
		Choices map[string]source.Choice `json:"choices"`
		LeftOut []string                 `json:"left_out"`
	}{chosen.Names, chosen.Choices, chosen.LeftOut})
	if err != nil {
		panic(err) // there is nothing in it that JSON cannot have
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// maxDiffering is the most tables that an error names.
const maxDiffering = 10

// differing adds to the error about another job the tables in which that job differs, if patterns have chosen them.
func (e *coordination) differing(err error) error {
	var other *workers.OtherJobError
	var was, is jobs.Settings
	if e.chosen == nil || !errors.As(err, &other) || json.Unmarshal(other.Settings, &was) != nil ||
		json.Unmarshal(e.config, &is) != nil || was.Chosen == is.Chosen {
		return err
	}
	var texts []string
	for _, one := range []struct {
		of, in []string
		text   string
	}{
		{e.meant, other.Tables, "the table %q was not part of it"},
		{other.Tables, e.meant, "the table %q is not chosen any more"},
	} {
		for _, name := range one.of {
			if !slices.Contains(one.in, name) {
				texts = append(texts, fmt.Sprintf(one.text, name))
			}
		}
	}
	switch more := len(texts) - maxDiffering; {
	case len(texts) == 0:
		texts = []string{"conditions, columns or foreign keys of its tables are others"}
	case more > 0:
		texts = append(texts[:maxDiffering], fmt.Sprintf("and %d more", more))
	}
	return command.Rephrase(err, command.Plain(err)+": "+strings.Join(texts, "; "))
}
