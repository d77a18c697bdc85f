package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/place"
	"culvert/workers"
)

// QueueFlags say which NATS server keeps the jobs, who one is there, and what the participants of a job share.
type QueueFlags struct {
	URL     command.NotEmpty
	Context command.NotEmpty
	JobKey  command.NotEmpty
}

// Add adds the flags to a command.
func (f *QueueFlags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(&f.URL, "queue", "use the queue at the NATS server `URL`")
	flags.Var(&f.Context, "nats-context", "use the queue of a context of the nats program, by its `NAME`")
	flags.Var(&f.JobKey, "job-key", "encrypt the queue with the identity in `FILE` (default: your own)")
}

// Elsewhere reports whether the flags name a queue outside this process.
func (f *QueueFlags) Elsewhere() bool { return f.URL != "" || f.Context != "" }

// Shell returns the flags that name the queue, for a shell.
func (f *QueueFlags) Shell() string {
	var all []string
	if f.Context != "" {
		all = append(all, "--nats-context "+command.ForShell(string(f.Context)))
	}
	if f.URL != "" {
		all = append(all, "--queue "+command.ForShell(Shown(string(f.URL))))
	}
	return strings.Join(all, " ")
}

// Secret returns what the participants of a job share.
func (f *QueueFlags) Secret(ctx context.Context, a *command.App) ([]byte, error) {
	key, err := (&argument.KeyFlags{Identity: f.JobKey}).Key(ctx, a)
	if err != nil {
		return nil, err
	}
	return key.JobSecret(), nil
}

// Config returns the URL, the user and the files. Who one is comes from the context, or else from the environment, but
// never from both: one of them may be for another server.
func (f *QueueFlags) Config(a *command.App) (c workers.QueueConfig, err error) {
	known, from := environmentOfNATS(), "the environment"
	name := string(f.Context)
	if name == "" && f.URL == "" && known.URL == "" {
		name = os.Getenv("NATS_CONTEXT")
	}
	if name != "" {
		from = fmt.Sprintf("NATS context %q", name)
		if known, err = readContext(name); err != nil {
			return c, err
		}
	}
	given := f.URL != ""
	if c.URL = cmp.Or(string(f.URL), known.URL); c.URL == "" {
		return c, command.WithHint(command.Usagef("the queue is missing"), "name a NATS server: --queue nats://HOST",
			"see: culvert help workers")
	}
	if c.URL, err = checkURL(a, c.URL, known.user(), given); err != nil {
		return c, err
	}
	c.Credentials, c.Nkey, c.CA, c.Certificate, c.Key = known.Creds, known.Nkey, known.CA, known.Cert, known.Key
	for _, path := range []string{c.Credentials, c.Nkey, c.CA, c.Certificate, c.Key} {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return c, fmt.Errorf("%s: %w", from, err)
		}
	}
	if (c.Certificate == "") != (c.Key == "") {
		return c, command.Usagef("%s has a certificate without its key, or a key without its certificate", from)
	}
	return c, nil
}

// environmentOfNATS returns what the variables of NATS's own tools say.
func environmentOfNATS() natsContext {
	c := natsContext{
		URL: os.Getenv("NATS_URL"), User: os.Getenv("NATS_USER"), Password: os.Getenv("NATS_PASSWORD"),
		Creds: os.Getenv("NATS_CREDS"), Nkey: os.Getenv("NATS_NKEY"), CA: os.Getenv("NATS_CA"),
		Cert: os.Getenv("NATS_CERT"), Key: os.Getenv("NATS_KEY"),
	}
	if c.Password == "" { // then it is a token
		c.User, c.Token = "", c.User
	}
	return c
}

// checkURL completes the URL of a server, or those of several, with the user, which may be nil. One that was given on
// the command line must not have a secret.
func checkURL(a *command.App, text string, user *url.Userinfo, given bool) (string, error) {
	var all []string
	for one := range strings.SplitSeq(text, ",") {
		if !strings.Contains(one, "://") {
			one = "nats://" + one
		}
		u, err := url.Parse(one)
		if err != nil || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) || u.Host == "" {
			return "", command.WithHint(command.Usagef("the queue is not the URL of a NATS server"),
				"name one: --queue nats://HOST, or tls://HOST")
		}
		if u.User != nil && given {
			return "", command.WithHint(
				command.Usagef("there is a password on the command line, where others can see it"),
				"use --nats-context NAME, or the environment variables NATS_USER and NATS_PASSWORD")
		}
		if u.User == nil {
			u.User = user
		}
		if u.User != nil {
			password, both := u.User.Password()
			if !both {
				password = u.User.Username() // a token
			}
			a.Secrets.Add(password)
		}
		all = append(all, u.String())
	}
	return strings.Join(all, ","), nil
}

// Shown returns URLs without what they say of the user.
func Shown(urls string) string {
	all := strings.Split(urls, ",")
	for i, one := range all {
		if u, err := url.Parse(one); err == nil {
			u.User = nil
			all[i] = u.String()
		}
	}
	return strings.Join(all, ",")
}

// Open connects to a queue, or starts it.
func Open(ctx context.Context, c workers.QueueConfig) (*workers.Queue, error) {
	q, err := workers.OpenQueue(ctx, c)
	switch {
	case err == nil, ctx.Err() != nil, errors.Is(err, fs.ErrNotExist), c.URL == "":
		return q, err
	case errors.Is(err, workers.ErrPayload):
		return nil, command.WithHint(err, "raise max_payload of the NATS server, whose default is 1MB")
	}
	err = command.Rephrase(errors.Join(err, place.ErrUnreachable), command.Plain(err))
	return nil, command.WithHint(err,
		"check that the NATS server runs with JetStream (nats-server -js), and lets you in",
		"see: culvert help workers")
}

// OtherKey says of a job that its participants share another secret.
func OtherKey(err error, job string) error {
	if !errors.Is(err, workers.ErrSealed) {
		return err
	}
	return command.WithHint(
		command.Rephrase(errors.Join(err, command.ErrNoIdentity), fmt.Sprintf("job %s has another key", job)),
		"all who work on it need the identity of the export: its own, or the one of --job-key FILE")
}
