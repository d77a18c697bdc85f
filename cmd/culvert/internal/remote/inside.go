package remote

import (
	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
)

// refuseInside refuses a copy of a directory inside it, which would be copied too, without end. If one of the two is on
// another machine, as far as their names tell, it is not inside.
func refuseInside(to, from string) error {
	for _, name := range []*string{&to, &from} {
		switch {
		case argument.IsFile(*name):
			local, err := argument.LocalPath(*name)
			if err != nil {
				return err
			}
			*name = local
		case argument.IsURL(*name):
			return nil
		}
	}
	inside, err := argument.IsInside(to, from)
	if err == nil && inside {
		err = command.Usagef("the copy %q would be inside the directory that is copied", to)
	}
	return err
}
