package ui

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"golang.org/x/term"
)

// ErrNoTerminal says that there is nobody to ask.
var ErrNoTerminal = errors.New("there is no terminal to ask on")

// AskPassphrase asks on the terminal for the passphrase of something that exists.
func (c *Console) AskPassphrase(ctx context.Context, prompt string) (string, error) {
	return c.askSecret(ctx, prompt)
}

// AskNewPassphrase asks on the terminal, twice, for a passphrase to encrypt with. If nothing is entered it makes one
// and shows it on the terminal.
func (c *Console) AskNewPassphrase(ctx context.Context) (string, error) {
	passphrase, err := c.askSecret(ctx, "Enter passphrase (leave empty to generate a secure one):")
	if err != nil {
		return "", err
	}
	if passphrase == "" {
		passphrase = rand.Text()
		return passphrase, c.withTerminal(func(_, out *os.File) error {
			_, err := fmt.Fprintf(out, "culvert: the passphrase is %s\n", passphrase)
			return err
		})
	}
	again, err := c.askSecret(ctx, "Confirm passphrase:")
	if err != nil {
		return "", err
	}
	if again != passphrase {
		return "", errors.New("the passphrases differ")
	}
	return passphrase, nil
}

// askSecret reads a line without echo. If the context ends first, the terminal is left as it was found.
func (c *Console) askSecret(ctx context.Context, prompt string) (secret string, err error) {
	err = c.withTerminal(func(in, out *os.File) error {
		state, err := term.GetState(int(in.Fd()))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprint(out, Printable(prompt), " "); err != nil {
			return err
		}
		answer := make(chan error, 1)
		var line []byte
		go func() {
			read, err := term.ReadPassword(int(in.Fd()))
			line = read
			answer <- err
		}()
		select {
		case err := <-answer:
			secret = string(line)
			return errors.Join(err, eraseLine(out))
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), term.Restore(int(in.Fd()), state), eraseLine(out))
		}
	})
	return secret, err
}

// withTerminal runs f on the terminal of this process, with the progress out of the way.
func (c *Console) withTerminal(f func(in, out *os.File) error) error {
	in, out, err := openTerminal()
	if err != nil {
		if !term.IsTerminal(int(os.Stdin.Fd())) {
			return fmt.Errorf("%w: %w", ErrNoTerminal, err)
		}
		return c.ask(func() error { return f(os.Stdin, os.Stdin) })
	}
	return errors.Join(c.ask(func() error { return f(in, out) }), closeTerminal(in, out))
}

// eraseLine goes to the next line and then tries to go back and erase the question.
func eraseLine(out *os.File) error {
	const upAndErase = "\x1b[F\x1b[K"
	text := "\r\n"
	if understandsEscapes(out) {
		text += upAndErase
	}
	_, err := fmt.Fprint(out, text)
	return err
}
