package mask

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// Programs are own programs that mask values, by the names that rules have for them. Of each, one process runs at most,
// from the first value on, for all tables, columns and goroutines. It is safe for concurrent use.
//
// A program reads a line with a JSON array of strings, and answers by a line with an array of as many strings, in the
// same order, until its input ends. So NULL, which it never gets, line ends and quotes are unambiguous, and a program
// that flushes each line cannot wait for more. When all values of a table or a part are answered, and once more at the
// end, it gets an empty array, and has to answer it: so one that has died is known before its values are used.
//
//	import json, sys
//	for line in sys.stdin:
//	    print(json.dumps([value.upper() for value in json.loads(line)]), flush=True)
//
// It gets no arguments, and of the environment only what says where things are: no key, and no password.
type Programs struct {
	ctx context.Context // of the processes, as exec.CommandContext has it
	all map[string]*program

	// Stderr receives what the programs write there. It is for people who may see values; nil drops it.
	Stderr io.Writer
}

// NewPrograms returns programs by their names; the files are found as the shell finds them. When ctx ends, so do they.
func NewPrograms(ctx context.Context, files map[string]string) *Programs {
	p := &Programs{ctx: ctx, all: map[string]*program{}}
	for name, file := range files {
		p.all[name] = &program{name: name, file: file, owner: p, answerTime: answerTime, endTime: endTime}
	}
	return p
}

const (
	answerTime = 5 * time.Minute  // for a line
	endTime    = 10 * time.Second // after the end of the input

	// An answer may be four times as long as the question, and answerRoom longer.
	answerTimes, answerRoom = 4, 128 << 10
)

var errEndedEarly = errors.New("it ended before it had answered")

// program is one program. If it breaks the protocol, that is its last word until End.
type program struct {
	name, file          string
	owner               *Programs
	answerTime, endTime time.Duration

	mu  sync.Mutex // of what follows: a line is asked and answered before the next one
	run *process
	err error
}

// process is a program that runs.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	pipe io.Closer // what out reads
	out  *bufio.Reader
	line []byte

	// more receives nil when there is output after the last answer, or the error of reading it. Until then, out is
	// read.
	more chan error
}

// Has reports whether there is a program of this name.
func (p *Programs) Has(name string) bool { return p != nil && p.all[name] != nil }

// check refuses the name of a program that is not known.
func (p *Programs) check(name string) error {
	if !p.Has(name) {
		return fmt.Errorf("there is no program of the name %q", name)
	}
	return nil
}

// End asks all processes for an empty answer, ends their input, and waits for them. It is an error if one has died
// already, writes something else, ends with another exit code than 0, or does not end within ten seconds. Values that
// are masked later start new processes.
func (p *Programs) End() error {
	if p == nil {
		return nil
	}
	var all []error
	for _, name := range slices.Sorted(maps.Keys(p.all)) {
		if err := p.all[name].end(); err != nil {
			all = append(all, fmt.Errorf("mask: the program %q: %w", name, err))
		}
	}
	return errors.Join(all...)
}

// environment are the variables that programs get, if they are set.
var environment = []string{
	"PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "PATHEXT",
}

func (p *program) start() (*process, error) {
	cmd := exec.CommandContext(p.owner.ctx, p.file)
	cmd.Env = []string{}
	for _, name := range environment {
		if value, is := os.LookupEnv(name); is {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Stderr, cmd.WaitDelay = p.owner.Stderr, endTime
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	run := &process{cmd: cmd, in: in, pipe: out, out: bufio.NewReaderSize(out, 64<<10), more: make(chan error, 1)}
	cmd.Cancel = func() error { run.stop(); return nil }
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("it does not start: %w", err)
	}
	run.listen()
	return run, nil
}

// listen waits for output.
func (r *process) listen() {
	go func() {
		_, err := r.out.Peek(1)
		r.more <- err
	}()
}

// stop kills the process. Others that it has started may hold its output open, which is read no more.
func (r *process) stop() {
	_ = r.cmd.Process.Kill()
	_ = r.pipe.Close()
}

// ask sends a line, without its end, and calls use with the answer, which is valid until use returns. An error of use
// is a failure of the program.
func (p *program) ask(question []byte, use func(answer []byte) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return p.err
	}
	p.err = p.askNow(question, use)
	if p.err != nil && p.run != nil {
		p.run.stop()
		_ = p.run.wait()
		p.run = nil
	}
	return p.err
}

func (p *program) askNow(question []byte, use func(answer []byte) error) (err error) {
	if p.run == nil {
		if p.run, err = p.start(); err != nil {
			return err
		}
	}
	run := p.run
	select {
	case err := <-run.more:
		if err == nil {
			return errMoreAnswers // which would be taken as an answer to this question
		}
		run.more <- err
	default:
	}
	late := run.killAfter(p.answerTime)
	// A program may answer before it has read the whole line, so both directions must move.
	written := make(chan error, 1)
	go func() {
		_, err := run.in.Write(append(question, '\n'))
		written <- err
	}()
	err = run.readLine(answerRoom + answerTimes*len(question))
	if err != nil {
		_ = run.in.Close() // so that Write returns, if the process has closed only its output
	}
	writeErr := <-written
	switch tooLate := late(); {
	case p.owner.ctx.Err() != nil:
		return context.Cause(p.owner.ctx)
	case tooLate:
		return fmt.Errorf("it did not answer within %s", p.answerTime)
	case err == io.EOF:
		p.run = nil
		return run.endedEarly(p.endTime)
	case err == nil && writeErr != nil:
		return errors.New("it answered before it had read its values")
	case err != nil:
		return err
	case run.out.Buffered() > 0:
		return errMoreAnswers
	}
	run.listen()
	return use(run.line)
}

// killAfter kills the process unless the function that it returns is called in time, which reports whether it was not.
func (r *process) killAfter(limit time.Duration) (late func() bool) {
	timer := time.AfterFunc(limit, r.stop)
	return func() bool { return !timer.Stop() }
}

// readLine reads an answer into line. It is io.EOF if there is none.
func (r *process) readLine(limit int) error {
	r.line = r.line[:0]
	if err := <-r.more; err != nil {
		return io.EOF
	}
	for {
		part, err := r.out.ReadSlice('\n')
		if len(r.line)+len(part) > limit {
			return fmt.Errorf("its answer is longer than %d bytes, for values of which it got a line of %d",
				limit, (limit-answerRoom)/answerTimes)
		}
		r.line = append(r.line, part...)
		switch {
		case err == nil:
			return nil
		case err == bufio.ErrBufferFull:
		case len(r.line) > 0:
			return errors.New("it ended within an answer")
		default:
			return io.EOF
		}
	}
}

// endedEarly returns the error of a process whose output has ended.
func (r *process) endedEarly(limit time.Duration) error {
	late := r.killAfter(limit)
	err := r.wait()
	if late() {
		err = nil
	}
	return early(err)
}

// early returns the error of a process that ended before it had answered, with or without an error of its own.
func early(err error) error {
	if err == nil {
		return errEndedEarly
	}
	return fmt.Errorf("%w: %w", errEndedEarly, err)
}

// wait waits until the process has ended, and closes what belongs to it.
func (r *process) wait() error {
	_ = r.in.Close()
	return r.cmd.Wait()
}

// check asks for an empty answer, if the program runs. So it is known to be alive, and to have written no more than it
// was asked. An error that was reported for other rows may be about these: after a line too many, each question gets
// the answer of the one before.
func (p *program) check() error {
	p.mu.Lock()
	runs, err := p.run != nil, p.err
	p.mu.Unlock()
	if !runs {
		return err
	}
	return p.ask([]byte(emptyArray), isEmpty)
}

const emptyArray = "[]"

// isEmpty says why an answer is no empty array.
func isEmpty(answer []byte) error {
	return parseAnswers(answer, func([]byte) error { return errMoreAnswers })
}

// end ends the process, and forgets a failure that was reported.
func (p *program) end() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = nil
	run := p.run
	if run == nil {
		return nil
	}
	p.run = nil
	late := run.killAfter(p.endTime)
	answerErr := run.lastAnswer()
	if answerErr != nil && answerErr != io.EOF {
		run.stop()
	}
	err := run.wait()
	switch tooLate := late(); {
	case p.owner.ctx.Err() != nil:
		return context.Cause(p.owner.ctx)
	case tooLate:
		return fmt.Errorf("it did not end within %s after its input", p.endTime)
	case answerErr == io.EOF:
		return early(err)
	case answerErr != nil:
		return answerErr
	}
	return err
}

// lastAnswer asks for an empty answer, ends the input, and reads the output to its end. It is io.EOF if there is no
// answer, since the process has ended.
func (r *process) lastAnswer() error {
	select {
	case err := <-r.more:
		if err == nil {
			return errMoreAnswers // before it was asked
		}
		r.more <- err
	default:
	}
	_, _ = r.in.Write([]byte(emptyArray + "\n")) // less than a pipe has room for; an error shows in the output
	_ = r.in.Close()
	if err := r.readLine(answerRoom); err != nil {
		return err
	}
	if err := isEmpty(r.line); err != nil {
		return err
	}
	if _, err := r.out.ReadByte(); err == nil {
		return errMoreAnswers
	}
	return nil
}
