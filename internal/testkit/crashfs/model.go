package crashfs

import (
	"fmt"
	"slices"
)

// Model is the set of states that a log may have after a crash. Entries are numbered from 1, without gaps.
type Model struct {
	first   int      // number of the first entry
	entries []string // from number 1, including those cut off the front
	ends    []int    // number of entries at the end of each group
	durable int      // number of entries that survive a crash
	told    int      // number of entries that survive a kill
	other   *Model   // the other possible state, during a truncation
}

// NewModel returns an empty log.
func NewModel() *Model { return &Model{first: 1} }

// Append adds a group that may or may not survive.
func (m *Model) Append(group ...string) {
	m.entries = append(m.entries, group...)
	m.ends = append(m.ends, len(m.entries))
}

// Told records that all entries survive a kill, and a crash if durable.
func (m *Model) Told(durable bool) {
	m.told = len(m.entries)
	if durable {
		m.durable = m.told
	}
}

// First returns the number of the first entry.
func (m *Model) First() int { return m.first }

// Last returns the number of the last entry if all survive.
func (m *Model) Last() int { return len(m.entries) }

// TruncateFront begins to remove the entries before number, which makes the others durable. Until Done, it may or may
// not have happened.
func (m *Model) TruncateFront(number int) {
	m.other = m.clone()
	if number > m.first {
		m.other.first = number
		m.other.Told(true)
	}
}

// TruncateBack begins to remove the entries after number.
func (m *Model) TruncateBack(number int) {
	m.other = m.clone()
	m.other.entries = m.other.entries[:number]
	m.other.ends = append(slices.DeleteFunc(m.other.ends, func(end int) bool { return end >= number }), number)
	m.other.durable, m.other.told = number, number
}

// Begin sets the first number of an empty log. Until Done, it may or may not have happened.
func (m *Model) Begin(number int) {
	m.other = m.clone()
	m.other.first = number
	m.other.entries = append(m.other.entries, make([]string, number-1-m.Last())...)
	m.other.ends = append(m.other.ends, number-1)
	m.other.Told(true)
}

// Done records that the truncation has happened.
func (m *Model) Done() {
	*m = *m.other
}

// Undone records that the truncation will never happen.
func (m *Model) Undone() { m.other = nil }

func (m *Model) clone() *Model {
	c := *m
	c.entries, c.ends, c.other = slices.Clone(m.entries), slices.Clone(m.ends), nil
	return &c
}

// Settled reports whether no truncation is in progress.
func (m *Model) Settled() bool { return m.other == nil }

// Match returns an error if a log cannot have these entries after a crash, or only after a kill.
func (m *Model) Match(first int, entries []string, crash bool) error {
	err := m.match(first, entries, crash)
	if err != nil && m.other != nil && m.other.match(first, entries, crash) == nil {
		return nil
	}
	return err
}

func (m *Model) match(first int, entries []string, crash bool) error {
	last := first - 1 + len(entries)
	sure := m.told
	if crash {
		sure = m.durable
	}
	switch {
	case first != m.first:
		return fmt.Errorf("the first entry is %d, and not %d", first, m.first)
	case last < sure:
		return fmt.Errorf("entries %d to %d were acknowledged and are lost", last+1, sure)
	case last > len(m.entries):
		return fmt.Errorf("entries %d to %d were never appended", len(m.entries)+1, last)
	case last > 0 && !slices.Contains(m.ends, last) && last >= first:
		return fmt.Errorf("entry %d is not the last of its group", last)
	}
	for i, entry := range entries {
		if want := m.entries[first-1+i]; entry != want {
			return fmt.Errorf("entry %d has changed: %d bytes, %.40q, and not %d, %.40q",
				first+i, len(entry), entry, len(want), want)
		}
	}
	return nil
}

// Settle is Match for a log that was opened: its entries now stay.
func (m *Model) Settle(first int, entries []string, crash bool) error {
	if err := m.Match(first, entries, crash); err != nil {
		return err
	}
	if m.match(first, entries, crash) != nil {
		*m = *m.other
	}
	m.other = nil
	last := first - 1 + len(entries)
	m.entries = m.entries[:last]
	m.ends = slices.DeleteFunc(m.ends, func(end int) bool { return end > last })
	m.Told(true)
	return nil
}

// Withdraw removes the last group, which certainly did not survive.
func (m *Model) Withdraw() {
	m.ends = m.ends[:len(m.ends)-1]
	last := 0
	if len(m.ends) > 0 {
		last = m.ends[len(m.ends)-1]
	}
	m.entries = m.entries[:last]
}

// Right returns an error if the log cannot have these entries from number first. It may have more.
func (m *Model) Right(first int, entries []string) error {
	last := first - 1 + len(entries)
	if first != m.first || last > len(m.entries) || !slices.Equal(entries, m.entries[first-1:last]) {
		return fmt.Errorf("entries %d to %d, and they are not those of %d to %d", first, last, m.first, len(m.entries))
	}
	return nil
}

// Whole is Right for entries that must be whole groups.
func (m *Model) Whole(first int, entries []string) error {
	if last := first - 1 + len(entries); last >= first && !slices.Contains(m.ends, last) {
		return fmt.Errorf("entry %d is not the last of its group", last)
	}
	return m.Right(first, entries)
}
