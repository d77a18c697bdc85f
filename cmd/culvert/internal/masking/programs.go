package masking

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/ui"
	"culvert/mask"
)

// files returns the files of the programs by their names. Each is known to be there.
func (f *Flags) files() (map[string]string, error) {
	files := map[string]string{}
	for _, text := range f.programs {
		name, file, _ := strings.Cut(text, "=")
		if _, err := mask.ParseRule("program " + name); err != nil || file == "" {
			return nil, command.WithHint(command.Usagef("--mask-program is NAME=FILE, not %q", text),
				"see: culvert help masks")
		}
		if _, twice := files[name]; twice {
			return nil, command.Usagef("--mask-program names %q twice", name)
		}
		path, err := exec.LookPath(file)
		if err != nil {
			return nil, command.WithHint(fmt.Errorf("the program %q of masks cannot be run: %w", name, err),
				"it is a file that may be executed (chmod +x), with #! and its interpreter in the first line")
		}
		files[name] = path
	}
	return files, nil
}

// checkPrograms refuses rules that name programs which are not known.
func (f *Flags) checkPrograms(all []assignment) error {
	files, err := f.files()
	if err != nil {
		return err
	}
	for _, one := range all {
		name := one.rule.Program()
		if _, known := files[name]; known || name == "" {
			continue
		}
		hint := fmt.Sprintf("say which file it is: --mask-program %s=FILE", name)
		if near := ui.Nearest(name, slices.Collect(maps.Keys(files))); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return command.WithHint(command.Usagef("the rule %s has no program", one.rule), hint)
	}
	return nil
}

// NewPrograms returns the programs. They run until they are ended, and no longer than ctx.
func (f *Flags) NewPrograms(ctx context.Context) (*mask.Programs, error) {
	files, err := f.files()
	if err != nil || len(files) == 0 {
		return nil, err
	}
	return mask.NewPrograms(ctx, files), nil
}

// Started returns the programs of a command, which End ends.
func (f *Flags) Started(ctx context.Context) (_ *mask.Programs, err error) {
	if f.started == nil {
		f.started, err = f.NewPrograms(ctx)
	}
	return f.started, err
}

// End ends the programs, and adds to an error how they end. It does nothing if there are none.
func (f *Flags) End(err error) error {
	return errors.Join(err, f.started.End())
}
