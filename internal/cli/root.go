package cli

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"culvert/internal/ui"
)

// newRoot builds the command line.
func (a *app) newRoot() *cobra.Command {
	root := command("culvert")
	root.Version = programVersion()
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Args = unknownVerb
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.SetHelpFunc(showHelp)
	root.SetVersionTemplate("culvert {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		a.newKeygen(),
		a.newExport(),
		a.newEncrypt(),
		a.newDecrypt(),
		a.newCat(),
		a.newInspect(),
		a.newVerify(),
		a.newServe(),
		a.newLs(),
		a.newPull(),
		a.newPush(),
		a.newMount(),
		a.newWal(),
		a.newDemo(),
		a.newVersion(),
	)
	root.AddCommand(helpTopics()...)
	root.SetHelpCommand(newHelp(root))
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		usageErrors(cmd)
	}
	return root
}

// usageErrors makes what cobra says of the arguments of a command an error of usage, with the way to its help.
func usageErrors(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		usageErrors(sub)
	}
	check := cmd.Args
	if check == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageHint(cmd, err)
		}
		// Cobra checks these after the arguments and before the command.
		if err := cmd.ValidateFlagGroups(); err != nil {
			return usageHint(cmd, err)
		}
		return nil
	}
}

// exactly checks the number of arguments.
func exactly(want int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == want {
			return nil
		}
		return usagef("expected %s, got %d", ui.Several(int64(want), "argument"), len(args))
	}
}

func usageHint(cmd *cobra.Command, err error) error {
	if is[*hintedError](err) {
		return err
	}
	return withHint(usagef("%v", err), fmt.Sprintf("usage: %s", cmd.UseLine()), "see: "+cmd.CommandPath()+" --help")
}

// unknownVerb explains a verb that there is not.
func unknownVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return withHint(usagef("unknown command %q", args[0]), hintOfVerb(cmd, args[0]))
}

// hintOfVerb names the verb, or the topic of help, that was probably meant.
func hintOfVerb(root *cobra.Command, name string) string {
	var known []string
	for _, cmd := range root.Commands() {
		known = append(known, cmd.Name())
	}
	if near := ui.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "see: culvert help"
}

// notEmpty is the value of a flag that must have one if it is given. An empty one is that of a variable of the shell
// that is not set, and would be taken for no flag.
type notEmpty string

func (n *notEmpty) Set(value string) error {
	if value == "" {
		return errors.New("it is empty")
	}
	*n = notEmpty(value)
	return nil
}

func (n *notEmpty) String() string { return string(*n) }

func (n *notEmpty) Type() string { return "string" }

// flagError explains a flag that there is not, or that lacks its value, or a duration without a unit.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var known []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { known = append(known, flag.Name) })
		if near := ui.Nearest(unknown.GetSpecifiedName(), known); near != "" {
			return withHint(usagef("%v", err), fmt.Sprintf("did you mean --%s?", near))
		}
	}
	invalid, is := errors.AsType[*pflag.InvalidValueError](err)
	if is && invalid.GetFlag().Value.Type() == "duration" {
		name, example := invalid.GetFlag().Name, "1h30m"
		if _, err := strconv.ParseFloat(invalid.GetValue(), 64); err == nil {
			example = invalid.GetValue() + "s"
		}
		return withHint(usagef("--%s: %q is not a duration", name, invalid.GetValue()),
			"it has a unit, such as ms, s, m or h: --"+name+" "+example)
	}
	return usageHint(cmd, err)
}
