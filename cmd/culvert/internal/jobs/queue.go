package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/connect"
	"culvert/place"
	"culvert/workers"
)

// QueueFlags say which NATS server keeps the jobs, who one is there, and what the participants of a job share.
type QueueFlags struct {
	URL    command.NotEmpty
	jobKey command.NotEmpty
	files  [5]command.NotEmpty // as natsFiles lists them
}

// natsFiles are the flags that name files, and the variables of the environment that stand for them.
var natsFiles = [5]struct{ flag, variable, usage string }{
	{"nats-creds", "NATS_CREDS", "be the NATS user in `FILE`: a JWT and its nkey"},
	{"nats-nkey", "NATS_NKEY", "be the NATS user whose nkey is in `FILE`"},
	{"nats-ca", "NATS_CA", "verify the NATS server by the certificates in `FILE`"},
	{"nats-cert", "NATS_CERT", "show the NATS server the certificate in `FILE`"},
	{"nats-key", "NATS_KEY", "the key of --nats-cert, in `FILE`"},
}

// Add adds the flags to a command.
func (f *QueueFlags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(&f.URL, "queue", "use the queue at the NATS server `URL`")
	flags.Var(&f.jobKey, "job-key", "encrypt the queue with the identity in `FILE` (default: your own)")
	for i, file := range natsFiles {
		flags.Var(&f.files[i], file.flag, file.usage)
	}
}

// checkFiles refuses files of NATS without a queue.
func (f *QueueFlags) checkFiles() error {
	for i, file := range f.files {
		if f.URL == "" && file != "" {
			return command.Usagef("--%s is for --queue", natsFiles[i].flag)
		}
	}
	return nil
}

// secret returns what the participants of a job share.
func (f *QueueFlags) secret(ctx context.Context, a *command.App) ([]byte, error) {
	key, err := (&connect.KeyFlags{Identity: f.jobKey}).Key(ctx, a)
	if err != nil {
		return nil, err
	}
	return key.JobSecret(), nil
}

// config returns the URL and the files, from the flags or else from the environment.
func (f *QueueFlags) config(a *command.App) (c workers.QueueConfig, err error) {
	given := f.URL != ""
	if c.URL = string(f.URL); !given {
		c.URL = os.Getenv("NATS_URL")
	}
	if c.URL == "" {
		return c, command.WithHint(command.Usagef("the queue is missing"), "name a NATS server: --queue nats://HOST",
			"see: culvert help workers")
	}
	if c.URL, err = checkURL(a, c.URL, given); err != nil {
		return c, err
	}
	for i, to := range []*string{&c.Credentials, &c.Nkey, &c.CA, &c.Certificate, &c.Key} {
		if *to = string(f.files[i]); *to == "" {
			*to = os.Getenv(natsFiles[i].variable)
		}
		if *to == "" {
			continue
		}
		if _, err := os.Stat(*to); err != nil {
			return c, fmt.Errorf("--%s: %w", natsFiles[i].flag, err)
		}
	}
	if (c.Certificate == "") != (c.Key == "") {
		return c, command.Usagef("--nats-cert and --nats-key belong together")
	}
	return c, nil
}

// checkURL completes the URL of a server, or those of several. One that was given on the command line must not have a
// secret.
func checkURL(a *command.App, text string, given bool) (string, error) {
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
				"use --nats-creds FILE or --nats-nkey FILE, or the environment variables NATS_USER and NATS_PASSWORD")
		}
		if u.User == nil {
			u.User = userOfEnvironment()
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

// userOfEnvironment returns a user and a password, or a token, or nil.
func userOfEnvironment() *url.Userinfo {
	user, password := os.Getenv("NATS_USER"), os.Getenv("NATS_PASSWORD")
	switch {
	case user == "":
		return nil
	case password == "":
		return url.User(user)
	}
	return url.UserPassword(user, password)
}

// shown returns URLs without what they say of the user.
func shown(urls string) string {
	all := strings.Split(urls, ",")
	for i, one := range all {
		if u, err := url.Parse(one); err == nil {
			u.User = nil
			all[i] = u.String()
		}
	}
	return strings.Join(all, ",")
}

// open connects to a queue, or starts it.
func open(ctx context.Context, c workers.QueueConfig) (*workers.Queue, error) {
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

// otherKey says of a job that its participants share another secret.
func otherKey(err error, job string) error {
	if !errors.Is(err, workers.ErrSealed) {
		return err
	}
	return command.WithHint(
		command.Rephrase(errors.Join(err, command.ErrNoIdentity), fmt.Sprintf("job %s has another key", job)),
		"all who work on it need the identity of the export: its own, or the one of --job-key FILE")
}
