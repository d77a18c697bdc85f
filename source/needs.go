package source

import (
	"context"
	"slices"
	"strings"

	"culvert/internal/lazyregexp"
)

// Needer is implemented by sources that know what tables need that their definitions only name, such as types.
type Needer interface {
	// Needs returns what makes that, as a schema with Needs, in the transaction of the rows. The tables are those that
	// Table finds by the names. No rows may be open. The error is an [*UnknownError] if it has to look for a table that
	// is not there.
	Needs(ctx context.Context, tables []string) (*Schema, error)
}

// NeedsOf returns what tables need. It is nil if that is nothing, or if the source is not a [Needer]. What cannot be
// made is in the Lacks of the schema, bounded as by [Omitted].
func NeedsOf(ctx context.Context, s Source, tables []string) (*Schema, error) {
	needer, ok := s.(Needer)
	if !ok {
		return nil, nil
	}
	needs, err := needer.Needs(ctx, tables)
	if err != nil || len(needs.Statements) == 0 && len(needs.Lacks) == 0 {
		return nil, err
	}
	needs.Lacks = boundOmitted(needs.Lacks)
	return needs, nil
}

// Needed returns what the tables of a schema need, as a schema with Needs, or nil if it is not known. The schema may be
// nil.
func (s *Schema) Needed() *Schema {
	switch {
	case s == nil || !s.Needs && len(s.ForTables) == 0:
		return nil
	case s.Needs:
		return s
	}
	return &Schema{Dialect: s.Dialect, Needs: true, Statements: s.ForTables}
}

// NeededBy returns the schema with those statements only that some of its tables need.
func (s *Schema) NeededBy(tables []string) *Schema {
	needed := *s
	chosen := map[string]bool{}
	for _, name := range tables {
		chosen[name] = true
	}
	needed.Statements = slices.DeleteFunc(slices.Clone(s.Statements), func(one Statement) bool {
		return one.For != nil && !slices.ContainsFunc(one.For, func(name string) bool { return chosen[name] })
	})
	return &needed
}

// quoted matches a name in SQL that has quotes.
var quoted = lazyregexp.New(`"((?:[^"]|"")*)"`)

// WithoutMade returns what [Omitted] has named without the sequences that a schema with Needs makes. The schema may be
// nil.
func (s *Schema) WithoutMade(omitted []string) []string {
	if s == nil || !s.Needs {
		return omitted
	}
	made := map[string]bool{}
	for _, one := range s.Statements {
		name := quoted.ReplaceAllStringFunc(one.Object, func(name string) string {
			return strings.ReplaceAll(name[1:len(name)-1], `""`, `"`)
		})
		kind, name, _ := strings.Cut(name, " ")
		made["the "+kind+` "`+name+`"`] = true
	}
	return slices.DeleteFunc(slices.Clone(omitted), func(what string) bool { return made[what] })
}
