package load

import (
	"cmp"
	"context"
	"fmt"

	"culvert/cmd/culvert/internal/command"
	"culvert/load"
	"culvert/sink"
)

// refuseSame refuses a table that is its own target, as far as that can be known, and one into which two are copied.
func (c *copying) refuseSame(ctx context.Context, planned []load.Planned) error {
	filled := map[string]string{}
	objects := c.objectsOf(ctx, planned)
	for i, one := range planned {
		if one.Err != nil {
			continue
		}
		if one.Object != "" && objects[i] == one.Object {
			err := command.Usagef("it would be copied into itself")
			return command.WithHint(fmt.Errorf("table %q: %w", one.Name, err), "name another one: TABLE=NAME")
		}
		key := cmp.Or(one.Object, one.Table)
		if other, is := filled[key]; is {
			err := command.Usagef("the tables %q and %q would both become %s", other, one.Name, one.Table)
			return command.WithHint(err, otherName)
		}
		filled[key] = one.Name
	}
	return nil
}

// objectsOf identifies the tables in the source, if source and target are the same system. An object that cannot be
// filled, such as a view, cannot be a target, and has no identity.
func (c *copying) objectsOf(ctx context.Context, planned []load.Planned) []string {
	objects := make([]string, len(planned))
	if c.twin == nil {
		return objects
	}
	f := sink.Filling{Existing: sink.Append}
	if planner, is := c.twin.(sink.Planner); is {
		tables := make([]sink.Member, len(planned))
		for i, one := range planned {
			tables[i] = sink.Member{Name: one.Name, Filling: f}
		}
		plans, _ := planner.Plans(ctx, tables)
		for i, plan := range plans {
			objects[i] = plan.Object
		}
		return objects
	}
	for i, one := range planned {
		if plan, err := c.twin.Plan(ctx, one.Name, f); err == nil {
			objects[i] = plan.Object
		}
	}
	return objects
}

// refuseSameDatabase refuses a whole database that is its own target before anything is made in it. The first table
// that can be looked up tells.
func (c *copying) refuseSameDatabase(ctx context.Context) error {
	if c.schema == nil || c.twin == nil {
		return nil
	}
	for _, t := range c.targets {
		here, err := c.twin.Plan(ctx, t.from, sink.Filling{Existing: sink.Append})
		if err != nil {
			continue
		}
		there, err := c.dst.Plan(ctx, t.from, sink.Filling{Existing: sink.Append})
		if err == nil && here.Object != "" && here.Object == there.Object {
			return command.WithHint(command.Usagef("the database would be copied into itself"), "name another DEST")
		}
		return nil // what keeps the target from being looked up, the copy finds out too
	}
	return nil
}
