package prune

import (
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
)

// policy says which exports are kept. Zero stands for a rule that is not given.
type policy struct{ last, daily, weekly, monthly, yearly int }

// add adds the flags to a command.
func (p *policy) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(command.Positive(&p.last), "keep-last", "keep the last `N` exports")
	flags.Var(command.Positive(&p.daily), "keep-daily", "keep the last export of each of `N` days")
	flags.Var(command.Positive(&p.weekly), "keep-weekly", "keep the last export of each of `N` weeks")
	flags.Var(command.Positive(&p.monthly), "keep-monthly", "keep the last export of each of `N` months")
	flags.Var(command.Positive(&p.yearly), "keep-yearly", "keep the last export of each of `N` years")
}

func (p *policy) given() bool { return *p != policy{} }

// rule keeps the newest export of each of the last periods that have one.
type rule struct {
	name   string
	count  int
	period func(t time.Time, number int) int // number counts the exports
}

func (p *policy) rules() []rule {
	return []rule{
		{"last", p.last, func(_ time.Time, number int) int { return number }},
		{"daily", p.daily, func(t time.Time, _ int) int { return t.Year()*1000 + t.YearDay() }},
		{"weekly", p.weekly, func(t time.Time, _ int) int {
			year, week := t.ISOWeek()
			return year*100 + week
		}},
		{"monthly", p.monthly, func(t time.Time, _ int) int { return t.Year()*100 + int(t.Month()) }},
		{"yearly", p.yearly, func(t time.Time, _ int) int { return t.Year() }},
	}
}

// keep returns which rules keep each of several exports, of which the newest is the first.
func (p *policy) keep(begun []time.Time) [][]string {
	kept := make([][]string, len(begun))
	for _, r := range p.rules() {
		rest, last := r.count, -1
		for i, t := range begun {
			if rest == 0 {
				break
			}
			// While others could be kept, the oldest is, so that the history grows from the first day on.
			if period := r.period(t, i); period != last || i == len(begun)-1 {
				kept[i] = append(kept[i], r.name)
				rest, last = rest-1, period
			}
		}
	}
	return kept
}
