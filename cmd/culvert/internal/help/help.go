// Package help has the help texts of the commands and topics, and lays them out. The text of each command also has
// its usage, so a command begins as what [Command] returns.
package help

import (
	"cmp"
	"embed"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// texts has a file for each command, and one for each topic of culvert help.
//
//go:embed *.txt topics
var texts embed.FS

// Width is the width of a terminal that nobody has made wider.
const Width = 80

// notes is the annotation of a command that has the end of its help.
const notes = "notes"

// Command returns the command that a file of helpTexts describes. The file has the usage, what the command does in one
// line, what it does in a few, examples, and notes. The command is named by its path, as in "wal copy".
func Command(name string) *cobra.Command {
	text := Text(strings.ReplaceAll(name, " ", "-") + ".txt")
	use, text, _ := strings.Cut(text, "\n")
	short, text, _ := strings.Cut(text, "\n\n")
	long, text, _ := strings.Cut(text, "\n\nExamples:\n")
	examples, end, _ := strings.Cut(text, "\n\n")
	return &cobra.Command{
		Use: use, Short: short, Long: long, Example: examples, Annotations: map[string]string{notes: end},
	}
}

// Topics returns the topics as commands that cannot be run. They have only the first line of their texts: [Show] reads
// the rest, since each command line that is built has all topics.
func Topics() []*cobra.Command {
	files, err := texts.ReadDir("topics")
	if err != nil {
		panic(err) // they are embedded
	}
	var topics []*cobra.Command
	for _, file := range files {
		name := strings.TrimSuffix(file.Name(), ".txt")
		topics = append(topics, &cobra.Command{Use: name, Short: firstLine("topics/" + file.Name())})
	}
	return topics
}

// firstLine returns the first line of a file, which has at most 100 bytes.
func firstLine(name string) string {
	file, err := texts.Open(name)
	if err != nil {
		panic(err) // it is embedded
	}
	defer file.Close() //nolint:errcheck // it is in memory
	var start [101]byte
	n, err := io.ReadFull(file, start[:])
	line, _, ended := strings.Cut(string(start[:n]), "\n")
	if !ended {
		panic(fmt.Sprint("help: the first line of ", name, " is too long: ", err))
	}
	return line
}

// Text returns the text of a file, without the line end at its end.
func Text(name string) string {
	text, err := texts.ReadFile(name)
	if err != nil {
		panic(err) // it is embedded
	}
	return strings.TrimRight(string(text), "\n")
}

// flagGroups are the headings under which help lists flags, and the order in which it does. A flag is in the same
// group for all commands that have it.
var flagGroups = []struct{ title, flags string }{
	{"Database", "against dsn-file insecure-dsn lock-wait"},
	{"Selection", "all schema schema-only data-only grants large-objects job include exclude exclude-rows query " +
		"columns where limit snapshot from rows long"},
	{"Masks", "mask mask-key mask-program strict"},
	{"Tables", "csv create truncate swap append on-conflict reject max-rejects key map convert type sequences " +
		"triggers ledger verify no-verify analyze lock-timeout redact-errors"},
	{"Retention", "keep-last keep-daily keep-weekly keep-monthly keep-yearly yes"},
	{"Access", "allow writable rw allow-other"},
	{"Output", "output place force hash format line invalid-utf8 lossy bloom row-group compress ordered part-size " +
		"armor decrypt dry-run"},
	{"Workers", "workers queue job-key resume remove replicas nats-context"},
	{"Encryption", "pq recipient recipients-file identity plugin key-file no-encrypt " +
		"passphrase passphrase-file passphrase-fd passphrase-command"},
	{"Connections", "as timeout retry listen metrics drain handshake-timeout idle-timeout hold-timeout stall-timeout " +
		"max-connections max-calls max-buffers"},
	{"Running", "jobs rate max-load fail-fast notify metrics-file verbose quiet json version no-descriptions"},
}

// Show writes the help for a command or topic.
func Show(cmd *cobra.Command, _ []string) {
	out := cmd.OutOrStdout()
	// The writer keeps its error.
	section := func(title, text string) { _, _ = fmt.Fprintf(out, "\n%s:\n%s\n", title, strings.TrimRight(text, "\n")) }
	if !cmd.Runnable() && !cmd.HasSubCommands() {
		_, _ = fmt.Fprintln(out, Text("topics/"+cmd.Name()+".txt"))
		return
	}
	_, _ = fmt.Fprintln(out, cmd.Long)
	if cmd.Runnable() {
		section("Usage", "  "+usageLine(cmd))
	}
	if cmd.Example != "" {
		section("Examples", cmd.Example)
	}
	if cmd.HasAvailableSubCommands() {
		listCommands(cmd, section)
	}
	for _, group := range flagGroups {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		flags.SortFlags = false
		for name := range strings.FieldsSeq(group.flags) {
			if flag := cmd.Flags().Lookup(name); flag != nil {
				flags.AddFlag(flag)
			}
		}
		if flags.HasFlags() {
			section(group.title, flags.FlagUsagesWrapped(Width))
		}
	}
	if end := cmd.Annotations[notes]; end != "" {
		_, _ = io.WriteString(out, "\n"+end+"\n")
	}
}

// first are the commands with which somebody begins who sees the program for the first time.
var first = []string{"demo", "keygen", "export", "verify", "load"}

// ShowFirst writes what the program says if no command is given.
func ShowFirst(root *cobra.Command) error {
	out := root.OutOrStdout()
	_, err := fmt.Fprintf(out, "%s\n\nBegin with:\n", root.Long)
	for _, name := range first {
		cmd, _, findErr := root.Find([]string{name})
		_, writeErr := fmt.Fprintf(out, "  %-8s  %s\n", cmd.Name(), cmd.Short)
		err = cmp.Or(err, findErr, writeErr)
	}
	_, writeErr := io.WriteString(out, "\nculvert help lists all commands and topics, and culvert COMMAND --help "+
		"says more.\n")
	return cmp.Or(err, writeErr)
}

// usageLine is cobra's without "[flags]", which the usage of most commands names.
func usageLine(cmd *cobra.Command) string { return strings.TrimSuffix(cmd.UseLine(), " [flags]") }

// listCommands lists what is below a command, and topics apart.
func listCommands(cmd *cobra.Command, section func(title, text string)) {
	var commands, topics strings.Builder
	for _, sub := range cmd.Commands() {
		list := &commands
		if !sub.IsAvailableCommand() && sub.Name() != "help" {
			list = &topics
		}
		_, _ = fmt.Fprintf(list, "  %-*s  %s\n", cmd.NamePadding(), sub.Name(), sub.Short)
	}
	section("Commands", commands.String())
	if topics.Len() > 0 {
		section("Topics of culvert help", topics.String())
	}
}
