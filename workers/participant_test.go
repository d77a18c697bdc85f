package workers_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"culvert/export"
	"culvert/internal/testkit"
	"culvert/manifest"
	"culvert/place"
	"culvert/place/bucket"
	"culvert/place/dir"
	"culvert/postgres"
	"culvert/source"
	"culvert/workers"
)

const participantVariable = "CULVERT_TEST_PARTICIPANT"

// participant is a worker or a coordinator.
type participant struct {
	Coordinator bool
	Together    bool   // a coordinator and a worker, with a queue that nobody else has
	URL         string // of the queue; "" for one within the process
	Database    string
	Directory   string
	Bucket      string // its URL, in place of a directory
	Recipient   string
	Name        string // of the worker
	Sessions    int
	MaxSessions int
	Tables      []string
	PartSize    int64
	Mixed       bool
	Overwrite   bool
	FailFast    bool
	Plain       bool // not encrypted
	Resume      bool
	Held        source.Snapshot
	AckWait     time.Duration
	Heartbeat   time.Duration
	MaxDeliver  int

	// Steps: a process tells on its standard output what it does with files, and does it when a line arrives on its
	// standard input.
	Steps bool

	// Told: a process only tells what it does with files.
	Told bool

	temporary string // the directory for temporary files of a process, or ""

	// wrap changes the place, in this process, and wrapTaken the source that has taken a snapshot.
	wrap      func(place.Place) place.Place
	wrapTaken func(*postgres.Source) source.Source

	// wrapJoined changes what joining a snapshot comes to, in this process.
	wrapJoined func(source.Snapshot, *postgres.Source, error) (source.Source, error)
}

var secret = []byte("a secret of the tests, of 36 bytes…")

const (
	jobName   = "job"
	heartbeat = 20 * time.Millisecond
)

// open opens the queue, as soon as it runs.
func (p *participant) open(ctx context.Context) (q *workers.Queue, err error) {
	for {
		q, err = workers.OpenQueue(ctx, workers.QueueConfig{
			URL: p.URL, Heartbeat: p.Heartbeat, AckWait: p.AckWait, MaxDeliver: p.MaxDeliver,
		})
		if err == nil || pause(ctx) != nil {
			return q, err
		}
	}
}

// pause waits for a moment before something is tried again.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(heartbeat):
		return nil
	}
}

// closer is a place that can be closed.
type closer interface {
	place.Place
	Close() error
}

func (p *participant) place() (closer, error) {
	if p.Bucket != "" {
		return bucket.Open(context.Background(), p.Bucket, bucket.Config{})
	}
	return dir.Open(p.Directory)
}

func (p *participant) output() (*workers.Output, error) {
	to, err := p.place()
	if err != nil {
		return nil, err
	}
	recipient, err := age.ParseX25519Recipient(p.Recipient)
	output := &workers.Output{
		Plan: &export.Plan{Recipients: []age.Recipient{recipient}, Jobs: 1, Overwrite: p.Overwrite}, Place: to,
		Close: to.Close,
	}
	output.Plan.FailFast, output.Plan.PartSize = p.FailFast, p.PartSize
	if p.Plain {
		output.Plan.Recipients, output.Plan.Unencrypted = nil, true
	}
	if p.wrap != nil {
		output.Place = p.wrap(to)
	}
	switch {
	case p.Steps:
		output.Place = &steps{to, bufio.NewReader(os.Stdin)}
	case p.Told:
		output.Place = &steps{to, nil}
	}
	return output, err
}

func (p *participant) join(ctx context.Context, s source.Snapshot) (source.Source, error) {
	src, err := postgres.Join(ctx, p.Database, s)
	if p.wrapJoined != nil {
		return p.wrapJoined(s, src, err)
	}
	if err != nil {
		return nil, err
	}
	return src, nil
}

// take takes a new snapshot.
func (p *participant) take(ctx context.Context) (source.Source, error) {
	src, err := postgres.OpenSource(ctx, p.Database)
	if err != nil {
		return nil, err
	}
	if p.wrapTaken != nil {
		return p.wrapTaken(src), nil
	}
	return src, nil
}

func (p *participant) worker(q *workers.Queue, notice func(string)) *workers.Worker {
	return &workers.Worker{
		Queue: q, Secret: secret, Name: p.Name, Sessions: p.Sessions, Join: p.join, Notice: notice,
		Open: func(_ context.Context, settings json.RawMessage) (*workers.Output, error) {
			if string(settings) != `"settings"` {
				return nil, fmt.Errorf("the settings are %s", settings)
			}
			return p.output()
		},
	}
}

// work works on the job, which may not exist yet.
func (p *participant) work(ctx context.Context, notice func(string)) error {
	q, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer q.Close()
	return p.workOn(ctx, q, notice)
}

func (p *participant) workOn(ctx context.Context, q *workers.Queue, notice func(string)) error {
	for {
		err := p.worker(q, notice).Run(ctx, jobName)
		if !errors.Is(err, workers.ErrNoJob) && !errors.Is(err, workers.ErrNoCoordinator) {
			return err
		}
		if done, err := p.done(); err != nil || done && !p.Overwrite {
			return err // it has begun too late
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// untilJob waits for the job, and works on it.
func (p *participant) untilJob(ctx context.Context, q *workers.Queue, notice func(string)) error {
	for {
		err := p.worker(q, notice).Run(ctx, jobName)
		if !errors.Is(err, workers.ErrNoJob) && !errors.Is(err, workers.ErrNoCoordinator) || pause(ctx) != nil {
			return err
		}
	}
}

// manifest returns the name of the manifest.
func (p *participant) manifest() string {
	if p.Plain {
		return manifest.Name
	}
	return manifest.EncryptedName
}

// done reports whether there is a manifest.
func (p *participant) done() (bool, error) {
	in, err := p.place()
	if err != nil {
		return false, err
	}
	_, err = fs.Stat(in, p.manifest())
	if errors.Is(err, fs.ErrNotExist) {
		return false, in.Close()
	}
	return err == nil, errors.Join(err, in.Close())
}

// coordinate runs a coordinator.
func (p *participant) coordinate(
	ctx context.Context, q *workers.Queue, c workers.Coordinator,
) (*manifest.Manifest, error) {
	output, err := p.output()
	if err != nil {
		return nil, err
	}
	c.Queue, c.Job, c.Settings, c.Output = q, jobName, json.RawMessage(`"settings"`), output
	if c.Secret == nil {
		c.Secret = secret
	}
	c.Join, c.MaxSessions, c.Mixed = p.join, p.MaxSessions, p.Mixed
	c.Resume, c.Held = p.Resume, p.Held
	c.Open = p.take
	if c.Tables == nil {
		c.Tables = func(context.Context, source.Source) ([]string, error) { return p.Tables, nil }
	}
	m, err := c.Run(ctx)
	return m, errors.Join(err, output.Close())
}

// participate runs the participant of the environment.
func participate() bool {
	text := os.Getenv(participantVariable)
	if text == "" {
		return false
	}
	var p participant
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		panic(err)
	}
	ctx := context.Background()
	notice := func(message string) { fmt.Fprintln(os.Stderr, p.Name, message) }
	var err error
	if p.Coordinator || p.Together {
		var q *workers.Queue
		if q, err = p.open(ctx); err == nil {
			worked, coordinator := make(chan error, 1), p
			if p.Together {
				coordinator.Steps = false // its standard input belongs to the worker
				go func() { worked <- p.workOn(ctx, q, notice) }()
			} else {
				worked <- nil
			}
			_, err = coordinator.coordinate(ctx, q, workers.Coordinator{Notice: notice})
			err = errors.Join(err, <-worked)
			q.Close()
		}
	} else {
		err = p.work(ctx, notice)
	}
	if err != nil {
		panic(err)
	}
	return true
}

// steps is a place that asks before each step.
type steps struct {
	place.Place
	answers *bufio.Reader
}

func (s *steps) ask(what string) {
	_, _ = fmt.Fprintln(os.Stdout, what) // if nobody reads it, the test has ended
	if s.answers != nil {
		_, _ = s.answers.ReadString('\n')
	}
}

func (s *steps) Create(ctx context.Context, name string) (place.File, error) {
	s.ask("create " + name)
	file, err := s.Place.Create(ctx, name)
	return &stepFile{file, name, s}, err
}

func (s *steps) Replace(ctx context.Context, name string) (place.File, error) {
	s.ask("replace " + name)
	file, err := s.Place.Replace(ctx, name)
	return &stepFile{file, name, s}, err
}

func (s *steps) Remove(ctx context.Context, name string) error {
	s.ask("remove " + name)
	return s.Place.Remove(ctx, name)
}

type stepFile struct {
	place.File
	name  string
	steps *steps
}

func (f *stepFile) Commit() error {
	f.steps.ask("commit " + f.name)
	err := f.File.Commit()
	f.steps.ask("committed " + f.name)
	return err
}

// process is a participant in a process of its own.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr bytes.Buffer
}

func (p participant) start(t *testing.T) *process {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	started := &process{cmd: exec.Command(program)}
	started.cmd.Env = append(os.Environ(), participantVariable+"="+string(text))
	if p.temporary != "" {
		started.cmd.Env = append(started.cmd.Env, "TMPDIR="+p.temporary)
	}
	started.cmd.Stderr = &started.stderr
	stdin, stdout := testkit.StartPiped(t, started.cmd)
	started.stdin, started.stdout = stdin, bufio.NewReader(stdout)
	t.Cleanup(func() { started.kill() })
	return started
}

func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()
		_ = p.stdin.Close()
	}
}

// writeSome has a worker that goes in steps write the first parts of orders, up to the commit of the third.
func (p *process) writeSome(t *testing.T) {
	t.Helper()
	for range 3 {
		p.step(t, "create orders/")
		p.answer(t)
	}
	p.step(t, "commit")
}

// step waits until the process is about to do a step that begins with a word, and lets it do all steps before.
func (p *process) step(t *testing.T, word string) string {
	t.Helper()
	for {
		line, err := p.stdout.ReadString('\n')
		if err != nil {
			t.Fatalf("waiting for %q: %v\n%s", word, err, p.stderr.String())
		}
		if strings.HasPrefix(line, word) {
			return strings.TrimSpace(line)
		}
		p.answer(t)
	}
}

func (p *process) answer(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(p.stdin, "\n"); err != nil {
		t.Fatal(err, p.stderr.String())
	}
}

// goOn lets the process do all steps, and waits for its end.
func (p *process) goOn(t *testing.T) {
	t.Helper()
	for {
		_, _ = io.WriteString(p.stdin, "\n") // it may have ended
		if _, err := p.stdout.ReadString('\n'); err != nil {
			break
		}
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, p.stderr.String())
	}
}
