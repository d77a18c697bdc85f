package command

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"culvert/cmd/culvert/internal/ui"
)

// OneFile accepts no argument, or one.
func OneFile(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return Usagef("%d files are given, and only one can be read; flags come before or after it", len(args))
	}
	return nil
}

// Exactly checks the number of arguments.
func Exactly(want int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == want {
			return nil
		}
		return Usagef("expected %s, got %d", ui.Several(int64(want), "argument"), len(args))
	}
}

// UnknownVerb explains a verb that there is not.
func UnknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return WithHint(Usagef("unknown command %q", args[0]), HintOfVerb(cmd, args[0]))
}

// HintOfVerb names the verb, or the topic of help, that was probably meant.
func HintOfVerb(root *cobra.Command, name string) string {
	var known []string
	for _, cmd := range root.Commands() {
		known = append(known, cmd.Name())
	}
	if hint, is := foreignVerbs[name]; is && !root.HasParent() {
		return hint
	}
	if near := ui.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "see: culvert help"
}

// NotEmpty is the value of a flag that must have one if it is given. An empty one is that of a variable of the shell
// that is not set, and would be taken for no flag.
type NotEmpty string

// Set implements [pflag.Value].
func (n *NotEmpty) Set(value string) error {
	if value == "" {
		return errors.New("it is empty")
	}
	*n = NotEmpty(value)
	return nil
}

func (n *NotEmpty) String() string { return string(*n) }

// Type implements [pflag.Value].
func (n *NotEmpty) Type() string { return "string" }

// Positive returns the value of a flag that is a number above zero, which stands for a flag that is not given.
func Positive[T int | int64](number *T) pflag.Value { return &positive[T]{number} }

type positive[T int | int64] struct{ number *T }

func (p *positive[T]) Set(value string) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 1 || int64(T(n)) != n {
		return errors.New("it must be at least 1")
	}
	*p.number = T(n)
	return nil
}

func (p *positive[T]) String() string {
	if p.number == nil || *p.number == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*p.number), 10)
}

// Type implements [pflag.Value].
func (p *positive[T]) Type() string { return "number" }
