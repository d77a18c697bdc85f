package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// exitHelp ends the help of every command that does something.
const exitHelp = "\n\nExit status: see culvert help exit-codes."

// jsonHelp is the part of a command's help that explains its object. It names all fields.
func jsonHelp(fields string) string {
	return "\n\nWith --json the last line is an object: command, code (of exit) and, on a failure, error and hints; " +
		"and " + fields
}

// workFields are the fields of workReport.
const workFields = `output, bytes_in, bytes_out, seconds and peak_memory_bytes, as far as the command has got. It goes
to standard output, or to standard error if the data goes to standard output.`

func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:               "help [COMMAND | TOPIC]",
		Short:             "Help for a command or on a topic",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return withHint(usagef("no help on %q", strings.Join(args, " ")), hintOfVerb(root, args[0]))
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// helpTopic is a text that culvert help shows.
func helpTopic(name, short, text string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Long: text}
}

const environment = `Culvert reads these environment variables:

  CULVERT_IDENTITY   the own identity file, in place of culvert/identity.txt in
                     the user's configuration directory (XDG_CONFIG_HOME or
                     ~/.config; ~/Library/Application Support on macOS;
                     %AppData% on Windows)

The PostgreSQL source reads those of libpq, for whatever SOURCE leaves open:

  PGHOST PGPORT PGDATABASE PGUSER
                     where to connect, and as whom
  PGPASSWORD         the password; a file is safer, since other programs may
                     see the environment
  PGPASSFILE         a file of passwords (~/.pgpass); only its owner may read it
  PGSERVICE PGSERVICEFILE
                     a named set of all this (~/.pg_service.conf)
  PGSSLMODE PGSSLROOTCERT PGSSLCERT PGSSLKEY PGSSLPASSWORD PGSSLCERTMODE
  PGSSLSNI PGSSLNEGOTIATION PGCHANNELBINDING PGREQUIREAUTH
                     whether and how the connection is encrypted, and who the
                     server has to be
  PGCONNECT_TIMEOUT PGTARGETSESSIONATTRS PGAPPNAME PGOPTIONS
                     as in psql

The MySQL source reads those of the mysql client, for whatever SOURCE and the
group [client] of ~/.my.cnf leave open:

  MYSQL_HOST MYSQL_TCP_PORT MYSQL_UNIX_PORT
                     where to connect; MYSQL_UNIX_PORT is the path of a socket
  MYSQL_PWD          the password; the option file is safer, since other
                     programs may see the environment

And the Go runtime reads, among others:

  GOMAXPROCS         how many cores are used where --jobs does not say
  GOMEMLIMIT         a soft limit for memory, such as 64MiB

age plugins are looked for in PATH, as age-plugin-NAME.`

// helpWidth is the width of a terminal that nobody has made wider, less one.
const helpWidth = 79

// wrap breaks the lines of a text anew. Paragraphs with indented lines stay as they are.
func wrap(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, paragraph := range paragraphs {
		if strings.HasPrefix(paragraph, " ") || strings.Contains(paragraph, "\n ") {
			continue
		}
		var b strings.Builder
		column := 0
		for word := range strings.FieldsSeq(paragraph) {
			width := len([]rune(word))
			switch {
			case column == 0:
			case column+1+width > helpWidth:
				b.WriteByte('\n')
				column = 0
			default:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += width
		}
		paragraphs[i] = b.String()
	}
	return strings.Join(paragraphs, "\n\n")
}
