package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"time"

	"culvert/internal/lazyregexp"
)

var figuresURL = lazyregexp.New(`http://127\.0\.0\.1:[0-9]+/metrics`)

// plantedProcess is a process that serves figures.
type plantedProcess struct {
	cmd   *exec.Cmd
	url   string        // of its figures
	said  bytes.Buffer  // valid when it has ended
	ended chan struct{} // closed then
	err   error         // of the end
}

// start starts a command that serves figures, and waits until it has said where.
func (r *plantedRun) start(args ...string) *plantedProcess {
	r.t.Helper()
	p := &plantedProcess{cmd: r.command(append(args, "--metrics", "127.0.0.1:0", "-v")...), ended: make(chan struct{})}
	output, err := p.cmd.StderrPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // unless it has ended
		<-p.ended
	})
	urls := make(chan string, 1)
	go func() {
		defer close(p.ended)
		lines := bufio.NewScanner(io.TeeReader(output, &p.said))
		for sent := false; lines.Scan(); {
			if url := figuresURL.FindStringSubmatch(lines.Text()); url != nil && !sent {
				urls <- url[0]
				sent = true
			}
		}
		close(urls)
		p.err = p.cmd.Wait()
	}()
	var serves bool
	if p.url, serves = <-urls; !serves {
		<-p.ended
		r.t.Fatalf("%q has served nothing: %v: %s", args, p.err, &p.said)
	}
	return p
}

// figures searches the figures that a process serves, and reports whether there were some.
func (r *plantedRun) figures(p *plantedProcess) bool {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, p.url, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false // it has ended
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if found := r.secrets.In(page); found != "" {
		r.t.Errorf("the figures at %s have %s", p.url, found)
	}
	return err == nil && bytes.Contains(page, []byte("\nculvert_"))
}

// search searches what a process has said, which must match.
func (r *plantedRun) search(p *plantedProcess, name, has string) {
	r.t.Helper()
	if !lazyregexp.New(has).MatchString(p.said.String()) {
		r.t.Errorf("%s does not say %q, but %s", name, has, &p.said)
	}
	if found := r.secrets.In(p.said.Bytes()); found != "" {
		r.t.Errorf("%s says %s", name, found)
	}
}

// apart has a worker of another process write the parts, of an export that succeeds and of one that the database
// refuses. It searches what both say, and the figures that they serve meanwhile.
func (r *plantedRun) apart(d plantedDatabase, queue string) {
	r.t.Helper()
	export := func(to string, options ...string) *plantedProcess {
		return r.start(slices.Concat([]string{
			"export", d.source, "people", "--queue", queue, "--part-size", "64KiB", "-o", to,
		}, options, plantedMasks)...)
	}
	first := export("apart")
	if !r.figures(first) {
		r.t.Error("a coordinator without workers serves no figures")
	}
	worker := r.start("worker", d.source, "--queue", queue, "-j", "2", "--mask-key", "mask.key")
	r.follow(first, worker)
	if r.search(first, "the coordinator", ": 1 table, "); first.err != nil {
		r.t.Errorf("an export with a worker apart: %v", first.err)
	}
	second := export("apartraised", "--where", d.raises[0])
	r.follow(second, worker)
	if r.search(second, "the coordinator that failed", d.code); second.err == nil {
		r.t.Error("an export whose condition the database refuses has succeeded")
	}
	if !r.figures(worker) {
		r.t.Error("a worker without a job serves no figures")
	}
	if err := worker.cmd.Process.Signal(os.Interrupt); err != nil {
		r.t.Error(err)
	}
	<-worker.ended
	r.search(worker, "the worker", d.code)
}

// follow reads the figures of both until the first has ended.
func (r *plantedRun) follow(coordinator, worker *plantedProcess) {
	r.t.Helper()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-poll.C:
			r.figures(coordinator)
			r.figures(worker)
		case <-coordinator.ended:
			return
		}
	}
}
