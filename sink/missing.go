package sink

import (
	"cmp"

	"culvert/source"
)

// WithoutMissing returns the definition of a table that is to be made in the system that it is of, without the foreign
// keys that refer to tables that are neither Related nor there. They are in its Lacks, after those that it has. The
// schema for exists is "" if the key does not say it. An error of exists is returned as it is.
func (f Filling) WithoutMissing(exists func(schema, table string) (bool, error)) (*source.Definition, error) {
	var without source.Choice
	d := f.Create
	for _, c := range d.Constraints {
		r, ok := c.Reference()
		if !ok {
			continue
		}
		of := TableName{Schema: cmp.Or(r.Schema, d.Schema), Name: r.Table}
		if _, is := f.Related[of]; is || of == (TableName{Schema: d.Schema, Name: d.Name}) {
			continue
		}
		is, err := exists(r.Schema, r.Table)
		if err != nil {
			return nil, err
		}
		if !is {
			without.WithoutKeys = append(without.WithoutKeys, c)
		}
	}
	return without.Define(d), nil
}
