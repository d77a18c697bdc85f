package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"culvert/cmd/culvert/internal/command"
)

// natsContext is a connection to NATS that the nats program keeps under a name, in a file of JSON
// (https://docs.nats.io/using-nats/nats-tools/nats_cli#configuration-contexts). The fields that name files begin with ~
// for the home directory, and may have variables of the environment.
type natsContext struct {
	URL      string `json:"url"`
	User     string `json:"user"`
	Password string `json:"password"`
	Token    string `json:"token"`
	Creds    string `json:"creds"`
	Nkey     string `json:"nkey"`
	CA       string `json:"ca"`
	Cert     string `json:"cert"`
	Key      string `json:"key"`
}

// user returns who one is by a password or a token, or nil.
func (c *natsContext) user() *url.Userinfo {
	switch {
	case c.Token != "":
		return url.User(c.Token)
	case c.User != "":
		return url.UserPassword(c.User, c.Password)
	}
	return nil
}

// contextFields are what natsContext has, and what does not concern a connection. To ignore another one that is set
// could mean another server, or another user.
var contextFields = []string{
	"url", "user", "password", "token", "creds", "nkey", "ca", "cert", "key", "name", "description", "color_scheme",
}

// maxContext bounds the file of a context.
const maxContext = 64 << 10

// readContext reads the context of a name.
func readContext(name string) (c natsContext, err error) {
	if name != filepath.Base(name) || !filepath.IsLocal(name) {
		return c, command.Usagef("%q is not the name of a NATS context", name)
	}
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return c, err
		}
		config = filepath.Join(home, ".config")
	}
	file, err := os.Open(filepath.Join(config, "nats", "context", name+".json"))
	if err != nil {
		return c, command.WithHint(fmt.Errorf("NATS context %q: %w", name, err), "to list them: nats context ls")
	}
	text, err := io.ReadAll(io.LimitReader(file, maxContext+1))
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return c, fmt.Errorf("NATS context %q: %w", name, err)
	}
	if len(text) > maxContext {
		return c, fmt.Errorf("NATS context %q: the file is larger than %d KiB", name, maxContext>>10)
	}
	if c, err = decodeContext(text); err != nil {
		return c, fmt.Errorf("NATS context %q: %w", name, err)
	}
	for _, path := range []*string{&c.Creds, &c.Nkey, &c.CA, &c.Cert, &c.Key} {
		if *path, err = expand(*path); err != nil {
			return c, fmt.Errorf("NATS context %q: %w", name, err)
		}
	}
	return c, nil
}

// decodeContext reads the JSON of a context. Errors do not repeat it, since it may hold a password.
func decodeContext(text []byte) (c natsContext, err error) {
	all := map[string]json.RawMessage{}
	if json.Unmarshal(text, &all) != nil || json.Unmarshal(text, &c) != nil {
		return c, errors.New("the file is not the JSON of a context")
	}
	for name, value := range all {
		unset := slices.Contains([]string{"", `""`, "null", "false", "[]", "{}"}, string(bytes.TrimSpace(value)))
		if !unset && !slices.Contains(contextFields, name) {
			return c, command.WithHint(fmt.Errorf("its setting %q is not supported", name),
				"name the server by --queue, and the user by variables: culvert help environment")
		}
	}
	for _, path := range []string{c.Creds, c.Nkey} {
		if scheme, _, found := strings.Cut(path, "://"); found && scheme != "file" {
			return c, fmt.Errorf("credentials at %s:// are not supported", scheme)
		}
	}
	return c, nil
}

// expand returns the path that a field of a context means.
func expand(path string) (string, error) {
	path = os.ExpandEnv(strings.TrimPrefix(path, "file://"))
	rest, is := strings.CutPrefix(path, "~")
	if !is || rest != "" && rest[0] != '/' {
		return path, nil
	}
	home, err := os.UserHomeDir()
	return home + rest, err
}
