package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"culvert/internal/lazyregexp"
)

// Secrets are what no message may show.
type Secrets struct {
	mu    sync.Mutex
	known []string
}

// Add keeps a secret out of all messages. Very short ones are not replaced: that would show where they are.
func (s *Secrets) Add(secret string) {
	if len(secret) < 4 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = append(s.known, secret)
}

const redacted = "****"

var (
	// URLPassword matches the password of a URL.
	URLPassword = lazyregexp.New(`(://[^\s/?#:@]*:)[^\s/?#]*@`)
	// What comes after the value, such as a quote, goes with it: to show less is safe.
	keywordPassword = lazyregexp.New(`(?is)((?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*(?:'|$)|(?:\\.|[^\s\\])+)`)
	// IdentityKey matches the secret key of an identity.
	IdentityKey = lazyregexp.New(`(?i)(AGE-SECRET-KEY-)[A-Z0-9-]+`)
	// PrivateKey matches a private key in PEM.
	PrivateKey = lazyregexp.New(`(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END|$)`)
)

// Redact takes secrets out of a text: those that are known, and what looks like one: a password in a connection
// string, or a key.
func (s *Secrets) Redact(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range s.known {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	text = URLPassword.ReplaceAllString(text, "${1}"+redacted+"@")
	text = keywordPassword.ReplaceAllString(text, "${1}"+redacted)
	text = IdentityKey.ReplaceAllString(text, "${1}"+redacted)
	return PrivateKey.ReplaceAllString(text, "${1}"+redacted+"${2}")
}

// PassphraseFlags are the ways to give a passphrase. None of them is the command line itself, which others can see.
type PassphraseFlags struct {
	Prompt  bool
	file    string
	fd      *int
	command string

	passphrase string // once it was read
}

// Add adds the flags to a command.
func (p *PassphraseFlags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var((*NotEmpty)(&p.file), "passphrase-file", "read the passphrase from `FILE`")
	flags.Func("passphrase-fd", "read the passphrase from descriptor `N`", func(value string) error {
		fd, err := strconv.ParseUint(value, 10, 31)
		p.fd = new(int(fd))
		return err
	})
	flags.Var((*NotEmpty)(&p.command), "passphrase-command",
		"read the passphrase from `COMMAND`")
	cmd.MarkFlagsMutuallyExclusive("passphrase-file", "passphrase-fd", "passphrase-command")
}

// Given reports whether there is a passphrase without asking for it.
func (p *PassphraseFlags) Given() bool { return p.file != "" || p.fd != nil || p.command != "" }

// Inputs are the files that the flags name.
func (p *PassphraseFlags) Inputs() []string {
	if p.file == "" {
		return nil
	}
	return []string{p.file}
}

// read returns the passphrase that the flags name. It is read once: a descriptor has no more to give, and a command
// may ask.
func (p *PassphraseFlags) read(ctx context.Context, a *App) (string, error) {
	if p.passphrase != "" {
		return p.passphrase, nil
	}
	line, err := p.firstLine(ctx, a)
	if err != nil {
		return "", About("reading the passphrase", err)
	}
	if line == "" {
		return "", errors.New("reading the passphrase: it is empty")
	}
	a.Secrets.Add(line)
	p.passphrase = line
	return line, nil
}

func (p *PassphraseFlags) firstLine(ctx context.Context, a *App) (string, error) {
	switch {
	case p.command != "":
		return runForLine(ctx, a, p.command)
	case p.file == "-", p.fd != nil && *p.fd == 0:
		stdin, err := a.ClaimStdin("the passphrase")
		if err != nil {
			return "", err
		}
		return FirstLine(stdin)
	case p.fd != nil:
		f := os.NewFile(uintptr(*p.fd), fmt.Sprintf("file descriptor %d", *p.fd))
		if _, err := f.Stat(); err != nil {
			_ = f.Close() // there is nothing to close
			return "", fmt.Errorf("file descriptor %d is not open", *p.fd)
		}
		line, err := FirstLine(f)
		return line, errors.Join(err, f.Close())
	}
	f, err := os.Open(p.file)
	if err != nil {
		return "", err
	}
	line, err := FirstLine(f)
	return line, errors.Join(err, f.Close())
}

// runForLine runs a command in the shell of the system. It may ask on the terminal, or tell on standard error.
func runForLine(ctx context.Context, a *App, command string) (string, error) {
	cmd := shell(ctx, command)
	cmd.Stderr = a.Stderr
	var output lineStart
	cmd.Stdout = &output
	// What the command leaves running in the background may keep its output open. The command itself has said all.
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil
	}
	line, lineErr := FirstLine(bytes.NewReader(output.text))
	if lineErr != nil {
		err = lineErr // which has ended the command
	}
	if err != nil {
		return "", fmt.Errorf("--passphrase-command: %w", err)
	}
	return line, nil
}

// lineStart keeps what firstLine needs of the output of a command. It lets the rest pass, so that the command can end;
// but not if the first line itself has no end.
type lineStart struct{ text []byte }

func (l *lineStart) Write(p []byte) (int, error) {
	if len(l.text) > lineLimit && !bytes.Contains(l.text, []byte("\n")) {
		return 0, errLongLine
	}
	l.text = append(l.text, p[:min(len(p), lineLimit+1-len(l.text))]...)
	return len(p), nil
}

// lineLimit bounds a secret as a terminal bounds a line.
const lineLimit = 4096

var errLongLine = fmt.Errorf("the first line is longer than %d bytes", lineLimit)

// FirstLine reads a secret.
func FirstLine(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, lineLimit+1))
	if err != nil {
		return "", err
	}
	line, _, found := bytes.Cut(text, []byte("\n"))
	if !found && len(text) > lineLimit {
		return "", errLongLine
	}
	return string(bytes.TrimSuffix(line, []byte("\r"))), nil
}
