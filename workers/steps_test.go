package workers_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"culvert/internal/testkit"
	"culvert/internal/testkit/natsserver"
	"culvert/place"
	"culvert/postgres"
	"culvert/source"
	"culvert/workers"
)

// coordinatorSteps are all kinds of steps of a coordinator: the messages that it sends to the queue, and what it does
// with files. TestCoordinatorIsKilled kills it before each, and checks that there are no others.
var coordinatorSteps = []string{
	// To make the job in the queue, and to become its coordinator.
	"queue: find out", "queue: make the stream", "queue: make the consumer", "queue: make the bucket",
	"queue: note lease",
	// To plan.
	"queue: note shared", "queue: note job", "queue: note cuts", "queue: note table", "queue: put a task",
	// To keep the journal, from the job and its plans to the records.
	"create journal", "commit journal", "committed journal", "replace journal", "remove journal",
	// To collect records.
	"queue: watch",
	// To finish: to clean, to write the manifest, and to remove the job.
	"remove part", "create manifest", "queue: note head",
	"commit manifest", "committed manifest", "remove the journal's directory",
	"queue: remove the bucket", "queue: remove the stream",
}

// queueStep returns the kind of a message to the queue.
func queueStep(subject string) string {
	key, isNote := strings.CutPrefix(subject, "$KV.culvert-"+jobName+".")
	api, isCall := strings.CutPrefix(subject, "$JS.API.")
	switch {
	case isNote:
		kind, _, _ := strings.Cut(key, ".")
		return "queue: note " + kind
	case strings.HasPrefix(subject, "culvert."+jobName+"."):
		return "queue: put a task"
	case !isCall:
		return subject
	}
	for prefix, kind := range map[string]string{
		"STREAM.CREATE.CULVERT_": "queue: make the stream", "STREAM.CREATE.KV_": "queue: make the bucket",
		"CONSUMER.CREATE.CULVERT_": "queue: make the consumer", "CONSUMER.CREATE.KV_": "queue: watch",
		"STREAM.DELETE.CULVERT_": "queue: remove the stream", "STREAM.DELETE.KV_": "queue: remove the bucket",
		"CONSUMER.DELETE.KV_": "queue: watch",

		"INFO": "queue: find out", "STREAM.INFO.": "queue: find out", "CONSUMER.INFO.": "queue: find out",
		"DIRECT.GET.": "queue: find out", "STREAM.MSG.GET.": "queue: find out",
	} {
		if strings.HasPrefix(api, prefix) {
			return kind
		}
	}
	return subject
}

// fileStep returns the kind of what a coordinator does with a file.
func fileStep(line string) string {
	verb, name, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch {
	case name == ".culvert":
		return verb + " the journal's directory"
	case path.Dir(name) == ".culvert":
		return verb + " journal"
	case strings.HasPrefix(name, "manifest."):
		return verb + " manifest"
	}
	return verb + " part"
}

// killer kills a coordinator before a step of a kind. It is between it and the queue, and asks it what it does with
// files.
type killer struct {
	listener net.Listener
	server   string
	conns    sync.WaitGroup

	mu      sync.Mutex
	kind    string
	left    int // steps of the kind until that one
	seen    map[string]int
	process *process
	killed  bool
}

func newKiller(t *testing.T, server, kind string, nth int) *killer {
	t.Helper()
	k := &killer{server: server, kind: kind, left: nth, seen: map[string]int{}}
	var err error
	if k.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	k.conns.Go(func() {
		for {
			conn, err := k.listener.Accept()
			if err != nil {
				return
			}
			k.conns.Go(func() { k.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = k.listener.Close()
		k.conns.Wait()
	})
	return k
}

// admit reports whether a step may be done. Otherwise the process is dead.
func (k *killer) admit(kind string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.killed {
		return false
	}
	k.seen[kind]++
	if kind == k.kind {
		if k.left--; k.left == 0 {
			k.killed = true
			_ = k.process.cmd.Process.Kill() // it may be about to end
			return false
		}
	}
	return true
}

// serve passes on what a client sends, message by message.
func (k *killer) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", k.server)
	if err != nil {
		return
	}
	defer server.Close()
	k.conns.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
	})
	from := bufio.NewReaderSize(client, 64<<10)
	for {
		line, err := from.ReadBytes('\n')
		if err != nil {
			return
		}
		message := line
		if fields := strings.Fields(string(line)); strings.HasSuffix(fields[0], "PUB") {
			size, err := strconv.Atoi(fields[len(fields)-1])
			if err != nil || !k.admit(queueStep(fields[1])) {
				return
			}
			message = append(message, make([]byte, size+2)...)
			if _, err := io.ReadFull(from, message[len(line):]); err != nil {
				return
			}
		}
		if _, err := server.Write(message); err != nil {
			return
		}
	}
}

// run runs a coordinator until it ends or is killed.
func (k *killer) run(t *testing.T, p participant) {
	t.Helper()
	p.Coordinator, p.Steps = true, true
	p.URL = "nats://" + k.listener.Addr().String()
	k.mu.Lock()
	k.process = p.start(t)
	k.mu.Unlock()
	for {
		line, err := k.process.stdout.ReadString('\n')
		if err != nil {
			break
		}
		if k.admit(fileStep(line)) {
			_, _ = io.WriteString(k.process.stdin, "\n") // it may be killed for another step
		}
	}
	if err := k.process.cmd.Wait(); (err != nil) != k.killed {
		t.Errorf("%v\n%s", err, k.process.stderr.String())
	}
}

// isOfPlan reports whether a step replaces what belongs to a lost snapshot, or keeps that.
func isOfPlan(kind string) bool {
	note, is := strings.CutPrefix(kind, "queue: note ")
	return is && note != "lease" || kind == "queue: put a task" || strings.HasSuffix(kind, " journal")
}

// TestCoordinatorIsKilled kills the coordinator before each kind of step, the first time. Another one takes over. With
// Mixed, the coordinator goes on with a job that has lost its snapshot, and whose database has changed: then only steps
// that have to do with that are chosen, and under the race detector every fourth one of all. In its long form, the test
// chooses each step of each kind; with the race detector the first of each kind.
func TestCoordinatorIsKilled(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	quiet := newQuietFixture(t) // nothing writes to it, so the exports of all rounds see one state
	var s seenSteps
	t.Run("Before", func(t *testing.T) {
		for i, kind := range coordinatorSteps {
			for _, mixed := range []bool{false, true} {
				if !testkit.Soak() && (mixed && !isOfPlan(kind) || testkit.RaceDetector() && i%4 != 0) {
					continue
				}
				t.Run(fmt.Sprintf("%s mixed=%v", kind, mixed), func(t *testing.T) {
					t.Parallel()
					one := *quiet
					if mixed {
						one = *newFixture(t) // whose tables change
					}
					one.killedBefore(t, kind, mixed, &s)
				})
			}
		}
	})
	if testkit.RaceDetector() || t.Failed() {
		return // some kinds of steps may be unseen
	}
	for _, kind := range coordinatorSteps {
		if !s.kinds[kind] {
			t.Errorf("no coordinator had the step %q", kind)
		}
		delete(s.kinds, kind)
	}
	for kind := range s.kinds {
		t.Errorf("the step %q is not listed", kind)
	}
}

// seenSteps are the kinds of steps that coordinators have had.
type seenSteps struct {
	mu    sync.Mutex
	kinds map[string]bool
}

func (s *seenSteps) add(k *killer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kinds == nil {
		s.kinds = map[string]bool{}
	}
	for kind := range k.seen {
		s.kinds[kind] = true
	}
}

// killedBefore kills the coordinator before the first step of a kind. In its long form, it does so before each step.
func (f *fixture) killedBefore(t *testing.T, kind string, mixed bool, s *seenSteps) {
	t.Helper()
	server := natsserver.New(t)
	f.URL = server.URL()
	q := f.queue(t)
	for nth := 1; ; nth++ {
		k := newKiller(t, server.Address, kind, nth)
		f.killedAt(t, q, k, mixed)
		s.add(k)
		if t.Failed() {
			t.Fatalf("killed before step %d", nth)
		}
		if !k.killed || !testkit.Soak() || testkit.RaceDetector() {
			return
		}
	}
}

// killedAt runs a job whose coordinator is killed, and another coordinator then.
func (f *fixture) killedAt(t *testing.T, q *workers.Queue, k *killer, mixed bool) {
	t.Helper()
	one := *f
	one.Directory, one.Tables = t.TempDir(), []string{"customers", "orders", "nothing"}
	customers := 0
	if mixed {
		customers = one.leaveUnfinished(t, q)
		one.Mixed = true
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	worker := one.participant
	worker.Name, worker.wrap = "worker", func(to place.Place) place.Place {
		return &leaving{Place: to, file: one.Directory + "/orders/000001-9.csv.zst.age"}
	}
	work.Go(func() {
		for pause(ctx) == nil {
			err := worker.worker(q, nil).Run(ctx, jobName)
			left := errors.Is(err, workers.ErrNoJob) || errors.Is(err, workers.ErrNoCoordinator)
			if err != nil && !left && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	k.run(t, one.participant)
	if k.killed {
		one.takeOver(t, q)
	}
	if !mixed {
		one.check(t)
		return
	}
	m := one.check(t, "orders", "nothing")
	if m.Consistent || m.Tables[0].Rows != int64(customers) || m.Tables[0].Snapshot != "" ||
		m.Tables[1].Snapshot == "" || m.Position != "" {
		t.Errorf("consistent: %v, %d of %d customers, snapshots %q and %q, position %q", m.Consistent,
			m.Tables[0].Rows, customers, m.Tables[0].Snapshot, m.Tables[1].Snapshot, m.Position)
	}
}

// leaving is a place in which a worker that was killed has left a file beside the first one.
type leaving struct {
	place.Place
	file string
	once sync.Once
}

func (l *leaving) Create(ctx context.Context, name string) (place.File, error) {
	var err error
	l.once.Do(func() { err = errors.Join(os.MkdirAll(path.Dir(l.file), 0o755), os.WriteFile(l.file, nil, 0o600)) })
	if err != nil {
		return nil, err
	}
	return l.Place.Create(ctx, name)
}

// takeOver runs another coordinator. If the manifest is written and the job removed, there is nothing to do. If the
// journal is written and the job not yet noted in the queue, it goes on with that.
func (f *fixture) takeOver(t *testing.T, q *workers.Queue) {
	t.Helper()
	next := *f
	next.Resume = true
	result := <-next.begin(t.Context(), t, q, workers.Coordinator{})
	if _, err := os.Stat(f.Directory + "/manifest.json.age"); err != nil || result.err != nil && !isExist(result.err) {
		t.Errorf("the next coordinator: %v, manifest: %v", result.err, err)
	}
	if jobs, err := q.Jobs(t.Context()); err != nil || len(jobs) > 0 {
		t.Errorf("the jobs %q are left, %v", jobs, err)
	}
}

// hangsAfter reads some parts, and hangs at all others.
type hangsAfter struct {
	*postgres.Source
	left *atomic.Int64
}

func (h *hangsAfter) Part(ctx context.Context, part source.Part) (source.Rows, error) {
	if h.left.Add(-1) < 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.Source.Part(ctx, part)
}

// leaveUnfinished leaves a job with one table that is complete and one of which a part is written. Then both tables
// change, and nobody holds the snapshot. It returns how many rows the complete table had.
func (f *fixture) leaveUnfinished(t *testing.T, q *workers.Queue) (rows int) {
	t.Helper()
	first := *f
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var left atomic.Int64
	left.Store(2)
	first.wrapJoined = func(_ source.Snapshot, db *postgres.Source, err error) (source.Source, error) {
		if err != nil {
			return nil, err
		}
		return &hangsAfter{db, &left}, nil
	}
	worker := first.participant
	worker.Name = "first"
	worked := make(chan error, 1)
	running := first.begin(ctx, t, q, workers.Coordinator{Progress: func(s workers.Status) {
		if s.Done == 2 {
			cancel()
		}
	}})
	go func() { worked <- worker.workOn(ctx, q, func(string) {}) }()
	if result := <-running; !errors.Is(result.err, context.Canceled) {
		t.Fatal(result.err)
	}
	if err := <-worked; err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	_, err := fmt.Sscan(string(f.db.Psql(t, "-Atc", "SELECT count(*) FROM customers")), &rows)
	if err != nil {
		t.Fatal(err)
	}
	f.db.Exec(t, "INSERT INTO customers VALUES (0, 'new'); INSERT INTO orders VALUES (0, 'new')")
	return rows
}
