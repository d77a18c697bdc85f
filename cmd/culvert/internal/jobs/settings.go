package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"filippo.io/age"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/masking"
	"culvert/export"
	"culvert/mask"
	"culvert/workers"
)

// Settings are what a coordinator tells the workers: how the parts are written, and where. They have neither the
// address of the database nor a secret.
type Settings struct {
	Version    int      `json:"version"`
	Output     string   `json:"output"`
	Host       string   `json:"host,omitempty"`       // of a directory
	Recipients []string `json:"recipients,omitempty"` // none: not encrypted
	Layout
	FailFast bool `json:"fail_fast,omitempty"`

	// The job has the tables, and parts have the selection. Both are here so that a job is not continued with others.
	Choice
	Columns []string `json:"columns,omitempty"`
	Where   string   `json:"where,omitempty"`

	// Masks are the rules of tables and columns, and MaskKey is the fingerprint of their key, which each worker has to
	// have. A worker of a version that does not know them must refuse the job.
	Masks   map[string]mask.Rules `json:"masks,omitempty"`
	MaskKey string                `json:"mask_key,omitempty"`
}

// Choice says which tables a job has, in the words of the command line.
type Choice struct {
	Names   []string `json:"tables,omitempty"`
	All     bool     `json:"all,omitempty"`
	Schemas []string `json:"schemas,omitempty"`

	// Chosen is a hash of the tables that patterns choose, and of what is meant of them.
	Chosen string `json:"chosen,omitempty"`
}

const (
	settingsVersion = 1
	lossyVersion    = 2
	maskedVersion   = 3 // of settings with masks; another one if a rule makes other values of the same key
	bothVersion     = 4 // of settings with masks, of which workers must know lossy too
)

// NewSettings returns the settings of a job that writes to a directory.
func NewSettings(
	plan *export.Plan, how Layout, which Choice, l *argument.Location,
) (s Settings, err error) {
	s = Settings{
		Version: settingsVersion, Layout: how, FailFast: plan.FailFast, Choice: which,
		Columns: plan.Selection.Columns, Where: plan.Selection.Where,
	}
	if how.Lossy != "" {
		s.Version = lossyVersion // which workers must know
	}
	if !plan.Masks.IsZero() {
		if s.Version, s.Masks = maskedVersion, plan.Masks.Tables; how.Lossy != "" {
			s.Version = bothVersion
		}
		if plan.Masks.Key != nil {
			s.MaskKey = plan.Masks.Key.Fingerprint()
		}
	}
	if s.Output, s.Host, err = outputOf(l); err != nil {
		return s, err
	}
	s.Recipients, err = textsOf(plan.Recipients)
	return s, err
}

// textsOf returns recipients as they are named.
func textsOf(recipients []age.Recipient) (texts []string, err error) {
	for _, recipient := range recipients {
		if _, is := recipient.(*age.ScryptRecipient); is {
			return nil, command.WithHint(command.Usagef("several workers cannot encrypt with a passphrase: each of "+
				"them would have to know it"), "encrypt to a recipient: -r age1…, or to your own identity")
		}
		text, ok := recipient.(fmt.Stringer)
		if !ok {
			return nil, command.WithHint(command.Usagef("this recipient cannot be told to the workers"),
				"name it with -r or -R")
		}
		texts = append(texts, text.String())
	}
	return texts, nil
}

// checkRecipients refuses a job that is not encrypted to exactly the recipients that a worker accepts, if it has any.
func (s *Settings) checkRecipients(only []string) error {
	set := func(texts []string) []string { return slices.Compact(slices.Sorted(slices.Values(texts))) }
	switch {
	case only == nil || slices.Equal(set(s.Recipients), set(only)):
		return nil
	case len(s.Recipients) == 0:
		return errors.New("it is not encrypted, and this worker encrypts to its -r and -R")
	}
	return fmt.Errorf("it is encrypted to %s, and not to the -r and -R of this worker",
		strings.Join(s.Recipients, ", "))
}

// Name returns the name of the job.
func (s *Settings) Name() string { return nameOf(s.Output, s.Host) }

// Encode returns the settings as the queue has them.
func (s *Settings) Encode() json.RawMessage {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // there is nothing in it that JSON cannot have
	}
	return text
}

// applyMasks has a plan mask what the job says, with the key of this worker.
func (s *Settings) applyMasks(ctx context.Context, plan *export.Plan, flags *masking.Flags) error {
	if len(s.Masks) == 0 {
		return nil
	}
	key, err := flags.Key()
	switch {
	case err != nil:
		return err
	case s.MaskKey != "" && key == nil:
		return fmt.Errorf("its values are masked with the key %s, and this worker has none: --mask-key", s.MaskKey)
	case s.MaskKey != "" && key.Fingerprint() != s.MaskKey:
		return fmt.Errorf("its values are masked with the key %s, and this worker has the key %s", s.MaskKey,
			key.Fingerprint())
	}
	plan.Masks = &mask.Policy{Key: key, Tables: s.Masks}
	if plan.Masks.Programs, err = flags.NewPrograms(ctx); err != nil {
		return err
	}
	for _, rules := range s.Masks {
		for _, rule := range rules {
			if name := rule.Program(); name != "" && !plan.Masks.Programs.Has(name) {
				return fmt.Errorf("its values are masked by the program %q, and this worker has none of that name: "+
					"--mask-program %s=FILE", name, name)
			}
		}
	}
	return nil
}

// output opens the place that a job writes to, with the credentials of this machine. The job has only these recipients,
// unless that is nil.
func output(
	ctx context.Context, a *command.App, text json.RawMessage, flags *argument.PlaceFlags, only []string,
	masks *masking.Flags,
) (*workers.Output, error) {
	var s Settings
	known := []int{settingsVersion, lossyVersion, maskedVersion, bothVersion}
	if err := json.Unmarshal(text, &s); err != nil || !slices.Contains(known, s.Version) {
		return nil, errors.New("the export is by another version of culvert")
	}
	if host, err := os.Hostname(); s.Host != "" && (err != nil || s.Host != host) {
		return nil, fmt.Errorf("the export goes to a directory of the machine %s: workers on others cannot write there",
			s.Host)
	}
	if err := s.checkRecipients(only); err != nil {
		return nil, err
	}
	plan := &export.Plan{Jobs: 1, Unencrypted: len(s.Recipients) == 0, FailFast: s.FailFast}
	if err := s.Apply(plan, true); err != nil {
		return nil, err
	}
	if err := s.applyMasks(ctx, plan, masks); err != nil {
		return nil, err
	}
	reader := a.KeyReader(ctx, &command.PassphraseFlags{})
	for _, text := range s.Recipients {
		recipient, err := reader.Recipient(text)
		if err != nil {
			return nil, err
		}
		plan.Recipients = append(plan.Recipients, recipient)
	}
	_, l, err := argument.Locate(ctx, a, s.Output, flags)
	if err != nil {
		return nil, err
	}
	to, err := l.Directory()
	if err != nil {
		return nil, l.Close(err)
	}
	return &workers.Output{Plan: plan, Place: to, Close: func() error { return l.Close(plan.Masks.End()) }}, nil
}
