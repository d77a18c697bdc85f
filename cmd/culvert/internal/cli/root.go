package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/demo"
	"culvert/cmd/culvert/internal/doctor"
	"culvert/cmd/culvert/internal/export"
	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/jobfile"
	"culvert/cmd/culvert/internal/jobs"
	"culvert/cmd/culvert/internal/load"
	"culvert/cmd/culvert/internal/logs"
	"culvert/cmd/culvert/internal/masks"
	"culvert/cmd/culvert/internal/prune"
	"culvert/cmd/culvert/internal/remote"
	"culvert/cmd/culvert/internal/serve"
	"culvert/cmd/culvert/internal/tables"
	"culvert/cmd/culvert/internal/ui"
	"culvert/internal/lazyregexp"
)

// bareRoot builds the command line without verbs.
func bareRoot(a *command.App) *cobra.Command {
	root := help.Command("culvert")
	root.SilenceErrors, root.SilenceUsage = true, true
	root.Args = command.UnknownVerb
	root.RunE = func(cmd *cobra.Command, _ []string) error { return help.ShowFirst(cmd) }
	root.PersistentPreRunE = argument.ResolveFileURLs
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if rest := cmd.Flags().Args(); cmd.HasSubCommands() && len(rest) > 0 {
			a.HelpError = command.UnknownVerb(cmd, rest)
			return
		}
		help.Show(cmd, args)
	})
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(newHelp(root))
	return root
}

// newRoot builds the command line.
func newRoot(a *command.App) *cobra.Command {
	root := bareRoot(a)
	version := programVersion()
	root.Version = version.Version
	root.SetVersionTemplate(version.Text())
	for _, verb := range verbs {
		root.AddCommand(verb.build(a))
	}
	root.AddCommand(help.Topics()...)
	root.InitDefaultCompletionCmd()
	describeCompletion(root)
	completed := []string{"ls", "pull", "push", "mount", "cat", "inspect", "verify", "decrypt", "load", "prune"}
	for _, cmd := range root.Commands() {
		usageErrors(cmd)
		if slices.Contains(completed, cmd.Name()) {
			cmd.ValidArgsFunction = argument.CompleteURLs(a)
		}
	}
	return root
}

// verbs are the commands below the root, in the order in which help lists them.
var verbs = []struct {
	name  string
	build func(*command.App) *cobra.Command
}{
	{"keygen", newKeygen},
	{"tables", tables.New},
	{"doctor", doctor.New},
	{"export", export.New},
	{"encrypt", newEncrypt},
	{"decrypt", newDecrypt},
	{"cat", newCat},
	{"inspect", newInspect},
	{"verify", newVerify},
	{"load", load.New},
	{"copy", load.NewCopy},
	{"prune", prune.New},
	{"mask", masks.New},
	{"job", jobfile.New},
	{"worker", jobs.NewWorker},
	{"jobs", jobs.New},
	{"snapshot", jobs.NewSnapshot},
	{"serve", serve.New},
	{"ls", remote.NewLs},
	{"pull", remote.NewPull},
	{"push", remote.NewPush},
	{"mount", remote.NewMount},
	{"wal", logs.New},
	{"demo", demo.New},
	{"version", newVersion},
}

// rootFor builds what is needed of the command line to run it with arguments: only one verb, if they begin with its
// name. The flags of all others take a tenth of the time in which the program starts.
func rootFor(a *command.App, args []string) *cobra.Command {
	if len(args) == 0 {
		return newRoot(a)
	}
	for _, verb := range verbs {
		if verb.name == args[0] {
			root := bareRoot(a)
			cmd := verb.build(a)
			usageErrors(cmd)
			root.AddCommand(cmd)
			root.CompletionOptions.DisableDefaultCmd = true
			return root
		}
	}
	return newRoot(a)
}

// usageErrors makes what cobra says of the arguments of a command an error of usage, with the way to its help.
func usageErrors(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		usageErrors(sub)
	}
	if !cmd.Runnable() {
		return // a topic
	}
	check := cmd.Args
	if check == nil {
		check = cobra.ArbitraryArgs
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

func usageHint(cmd *cobra.Command, err error) error {
	if command.Is[*command.HintedError](err) {
		return err
	}
	text := err.Error()
	if m := exclusive.FindStringSubmatch(text); m != nil {
		text = "these cannot be combined: --" + strings.ReplaceAll(m[1], " ", ", --")
	}
	return command.WithHint(command.Usagef("%s", text), fmt.Sprintf("usage: %s", cmd.UseLine()),
		"see: "+cmd.CommandPath()+" --help")
}

// exclusive matches cobra's error of flags that exclude each other.
var exclusive = lazyregexp.New(`\[([^\]]+)\] were all set$`)

// flagError explains a flag that there is not, or that lacks its value, or a duration without a unit.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if hint := command.HintOfForeignFlag(cmd, unknown.GetSpecifiedName()); hint != "" {
			return command.WithHint(command.Usagef("%v", err), hint)
		}
		var known []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) { known = append(known, flag.Name) })
		if near := ui.Nearest(unknown.GetSpecifiedName(), known); near != "" {
			return command.WithHint(command.Usagef("%v", err), fmt.Sprintf("did you mean --%s?", near))
		}
	}
	invalid, is := errors.AsType[*pflag.InvalidValueError](err)
	if is && invalid.GetFlag().Value.Type() == "duration" {
		name, example := invalid.GetFlag().Name, "1h30m"
		if _, err := strconv.ParseFloat(invalid.GetValue(), 64); err == nil {
			example = invalid.GetValue() + "s"
		}
		return command.WithHint(command.Usagef("--%s: %q is not a duration", name, invalid.GetValue()),
			"it has a unit, such as ms, s, m or h: --"+name+" "+example)
	}
	return usageHint(cmd, err)
}

func newHelp(root *cobra.Command) *cobra.Command {
	cmd := help.Command("help")
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		var names []string
		if of, rest, err := root.Find(args); err == nil && len(rest) == 0 {
			for _, sub := range of.Commands() {
				names = append(names, cobra.CompletionWithDesc(sub.Name(), sub.Short))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		of, rest, err := root.Find(args)
		if err != nil || len(rest) > 0 {
			return command.WithHint(command.Usagef("no help on %q", strings.Join(args, " ")),
				command.HintOfVerb(root, args[0]))
		}
		of.InitDefaultHelpFlag()
		return of.Help()
	}
	return cmd
}
