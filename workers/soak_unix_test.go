//go:build unix

package workers_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"culvert/internal/testkit"
	"culvert/internal/testkit/natsserver"
)

// TestSoak lets random things happen to all processes of an export. It runs four schedules, in which each
// of these things happens, and 200 in its long form, or CULVERT_TEST_SCHEDULES; CULVERT_TEST_SEED=7 repeats one.
func TestSoak(t *testing.T) {
	t.Parallel()
	if seed := number(t, "CULVERT_TEST_SEED"); seed >= 0 {
		soak(t, uint64(seed))
		return
	}
	first, schedules := 0, number(t, "CULVERT_TEST_SCHEDULES")
	switch {
	case schedules >= 0:
	case testkit.Soak():
		schedules = 200
	default:
		first, schedules = 4, 4
	}
	for seed := first; seed < first+schedules; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			soak(t, uint64(seed))
		})
	}
}

// number returns that of a variable of the environment, or -1.
func number(t *testing.T, variable string) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return -1
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// soak runs one schedule: after some steps of the workers, something happens, and so on until the manifest is written.
func soak(t *testing.T, seed uint64) {
	t.Helper()
	f := newFixture(t)
	f.grow(t)
	server := natsserver.New(t)
	random := rand.New(rand.NewPCG(seed, 0))
	f.URL, f.MaxSessions, f.PartSize = server.URL(), 2+random.IntN(3), int64(100+random.IntN(400))<<10
	f.Mixed, f.Resume = true, true                        // whatever is lost, the export can be finished
	f.Tables = []string{"customers", "orders", "nothing"} // when a snapshot is lost, one table is often complete
	s := &soaked{fixture: f, t: t, server: server, random: random, steps: make(chan struct{}, 1000)}
	s.startCoordinator()
	for range 1 + random.IntN(3) {
		s.startWorker()
	}
	next := random.IntN(4)
	for n, events := 0, 2+random.IntN(5); ; {
		select {
		case err := <-s.ended:
			if err != nil && s.goesOn(err) {
				continue
			}
			s.finish()
			return
		case <-s.steps:
			f.growing.add(t)
			if n++; n > next && events > 0 {
				events--
				next = n + random.IntN(6)
				s.happen()
			}
		}
	}
}

type soaked struct {
	*fixture
	t           *testing.T
	server      *natsserver.Server
	random      *rand.Rand
	coordinator *process
	ended       chan error
	running     []*process
	stopped     []*process
	names       int
	queueKilled bool
	mayFail     int // how often a coordinator may end with an error, since the queue has lost the job
	steps       chan struct{}
}

func (s *soaked) startCoordinator() {
	p := s.participant
	p.Coordinator = true
	s.coordinator, s.ended = p.start(s.t), make(chan error, 1)
	go func(p *process, ended chan error) { ended <- p.cmd.Wait() }(s.coordinator, s.ended)
}

func (s *soaked) startWorker() {
	s.names++
	p := s.participant
	p.Name, p.Told, p.Sessions = fmt.Sprint("worker", s.names), true, 1+s.random.IntN(2)
	started := p.start(s.t)
	s.running = append(s.running, started)
	go func() {
		for {
			if _, err := started.stdout.ReadString('\n'); err != nil {
				return
			}
			select {
			case s.steps <- struct{}{}:
			default:
			}
		}
	}()
}

// take takes a worker from those that run.
func (s *soaked) take() *process {
	i := s.random.IntN(len(s.running))
	taken := s.running[i]
	s.running = append(s.running[:i:i], s.running[i+1:]...)
	return taken
}

// happen does something to a process. Something always runs afterwards.
func (s *soaked) happen() {
	switch s.random.IntN(8) {
	case 0, 1:
		s.t.Log("a worker is killed")
		s.take().kill()
		s.startWorker()
	case 2:
		s.t.Log("a worker is stopped")
		stopped := s.take()
		_ = stopped.cmd.Process.Signal(syscall.SIGSTOP) // it may have ended
		s.stopped = append(s.stopped, stopped)
		s.startWorker()
	case 3:
		s.t.Log("stopped workers go on")
		s.wake()
	case 4:
		s.t.Log("the coordinator is killed")
		_ = s.coordinator.cmd.Process.Kill()
		if err := <-s.ended; err == nil {
			s.ended <- nil // it was faster
			return
		}
		s.startCoordinator()
	case 5:
		s.t.Log("the queue is killed")
		s.queueKilled = true
		s.server.Kill(s.t)
		s.server.Start(s.t)
	case 6:
		s.t.Log("the queue forgets its data")
		s.queueKilled = true
		s.mayFail++ // if the coordinator has no journal yet
		s.server.Kill(s.t)
		s.server.Forget(s.t)
		s.server.Start(s.t)
		s.startWorker() // the others may notice that there is no job, and end
	case 7:
		s.t.Log("all are killed, so that the snapshot is lost")
		_ = s.coordinator.cmd.Process.Kill()
		for _, p := range append(s.running, s.stopped...) {
			p.kill()
		}
		s.running, s.stopped = nil, nil
		s.startWorker()
		if err := <-s.ended; err == nil {
			s.ended <- nil // it was faster
			return
		}
		s.startCoordinator()
	}
}

// goesOn starts the coordinator again if it may have ended with an error, as whatever supervises it would do.
func (s *soaked) goesOn(err error) bool {
	if s.mayFail == 0 {
		s.t.Errorf("%v\n%s", err, s.coordinator.stderr.String())
		return false
	}
	s.mayFail--
	s.startCoordinator()
	s.startWorker() // the others may have ended with the job
	return true
}

func (s *soaked) wake() {
	for _, p := range s.stopped {
		_ = p.cmd.Process.Signal(syscall.SIGCONT) // it may have been killed
	}
	s.running = append(s.running, s.stopped...)
	s.stopped = nil
}

// finish checks the export, before and after stopped workers go on.
func (s *soaked) finish() {
	s.checkGrown(s.t)
	s.wake()
	if s.queueKilled {
		// A worker may have been stopped while it recorded a part, and cannot know whether the record arrived.
		s.late = regexp.MustCompile(`^(orders|customers|nothing)/[0-9-]+\.csv\.zst\.age$`)
	}
	for _, p := range s.running {
		if err := p.cmd.Wait(); err != nil {
			s.t.Errorf("%v\n%s", err, p.stderr.String())
		}
	}
	s.checkGrown(s.t)
}
