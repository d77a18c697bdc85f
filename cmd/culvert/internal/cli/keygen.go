package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/ui"
	"culvert/internal/keyfile"
)

// keygenReport is the report of culvert keygen.
type keygenReport struct {
	command.Outcome
	Path        string `json:"path,omitempty"` // "-" is standard output
	Recipient   string `json:"recipient,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
}

func (r *keygenReport) Text() string {
	text := fmt.Sprintf("fingerprint: %s\n", r.Fingerprint)
	if r.Recipient == "" {
		if r.Path == "-" {
			return text
		}
		return fmt.Sprintf("mask key:    %s\n", ui.Name(r.Path)) + text
	}
	text = fmt.Sprintf("recipient:   %s\n", r.Recipient) + text
	if r.Path == "-" {
		return text
	}
	return fmt.Sprintf("identity:    %s\n", ui.Name(r.Path)) + text
}

func newKeygen(a *command.App) *cobra.Command {
	var path string
	var postQuantum, masks, json bool
	cmd := help.Command("keygen")
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		r := &keygenReport{}
		var err error
		if masks {
			err = maskKeygen(a, r, path)
		} else {
			err = keygen(a, r, path, postQuantum)
		}
		to := a.Stdout
		if r.Path == "-" {
			to = a.Stderr
		}
		return a.Deliver(cmd, r, to, json, err)
	}
	cmd.Flags().VarP((*command.NotEmpty)(&path), "output", "o", "write to `FILE`; - is standard output")
	cmd.Flags().BoolVar(&postQuantum, "pq", false, "withstand quantum computers (ML-KEM-768 with X25519)")
	cmd.Flags().BoolVar(&masks, "mask", false, "make a key for masks instead of an identity")
	cmd.MarkFlagsMutuallyExclusive("pq", "mask")
	cmd.Flags().BoolVar(&json, "json", false, "print JSON")
	return cmd
}

func keygen(a *command.App, r *keygenReport, path string, postQuantum bool) error {
	generate := keyfile.Generate
	if postQuantum {
		generate = keyfile.GeneratePostQuantum
	}
	key, err := generate()
	if err != nil {
		return err
	}
	if path == "" {
		if path, err = keyfile.DefaultPath(); err != nil {
			return err
		}
	}
	r.Path = path
	if path == "-" {
		warnOfReadableOutput(a)
		err = key.Write(a.Stdout, time.Now())
	} else {
		err = key.Create(path, time.Now())
	}
	if errors.Is(err, os.ErrExist) {
		hints := []string{"make another one elsewhere: culvert keygen -o FILE"}
		if recipient := commentInFile(path, "public key"); recipient != "" {
			hints = append(hints, "its recipient is "+recipient)
		}
		if fingerprint := commentInFile(path, "fingerprint"); fingerprint != "" {
			hints = append(hints, "its fingerprint is "+fingerprint)
		}
		return command.WithHint(fmt.Errorf("identity file %q exists", path), hints...)
	}
	if errors.Is(err, fs.ErrPermission) {
		return command.WithHint(err, "choose another place with -o FILE, or change the permissions")
	}
	if err != nil {
		return err
	}
	r.Recipient, r.Fingerprint = key.RecipientString(), key.Fingerprint()
	return nil
}

// commentInFile finds what the comments of an identity file say, such as its public key.
func commentInFile(path, what string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was only read
	lines := bufio.NewScanner(io.LimitReader(f, 64<<10))
	for lines.Scan() {
		if value, found := strings.CutPrefix(lines.Text(), "# "+what+": "); found {
			return value
		}
	}
	return ""
}

// warnOfReadableOutput warns if a secret is about to be written to a file that everybody can read.
func warnOfReadableOutput(a *command.App) {
	f, ok := a.Stdout.(*os.File)
	if !ok {
		return
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o004 != 0 {
		a.Console.Warn("the secret key goes to a file that other users can read")
	}
}
