package read

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"culvert/mysql/internal/wire"
	"culvert/source"
)

// Config says how a database is opened.
type Config struct {
	// Connections is the number of connections that read one state of the database. Up to 1 stands for one, which
	// needs no lock.
	Connections int

	// LockWait is how long at most to wait for the lock under which several connections begin, and how long at most to
	// hold it. Zero stands for 5 seconds.
	LockWait time.Duration
}

const defaultLockWait = 5 * time.Second

var _ source.Grouped = (*DB)(nil)

// Open connects to a database and begins the transaction, or one for each of several connections, at one moment. There
// are fewer connections if not all can be had; [DB.Beside] says why.
func (c Config) Open(ctx context.Context, url string) (*DB, error) {
	settings, err := wire.Resolve(url)
	if err != nil {
		return nil, err
	}
	settings.Several = true // a statement of a user is prepared, and so a single one
	first, err := connect(ctx, settings)
	if err != nil {
		return nil, err
	}
	db := &DB{session: first, group: &group{moment: source.Moment{Connections: 1}}}
	if c.LockWait == 0 {
		c.LockWait = defaultLockWait
	}
	if c.Connections > 1 {
		err = db.group.begin(ctx, c, settings, first)
	} else {
		err = first.begin(ctx)
	}
	if err == nil {
		err = first.begun(ctx)
	}
	if err != nil {
		_ = db.Close() // always nil
		return nil, err
	}
	return db, nil
}

// group is the connections that have begun together. Those that nobody reads with are idle.
type group struct {
	moment   source.Moment
	position string // of the log, under the lock
	fewer    *source.IndivisibleError
	started  sync.WaitGroup // schemas that are read over some of them

	mu     sync.Mutex
	idle   []*session
	closed bool
}

// begin begins the transactions of all connections, of which first is one, under the lock. Everything else is done
// before it is taken, so others wait for one statement. If the lock is not to be had, first begins alone. An error is
// one of first.
func (g *group) begin(ctx context.Context, c Config, settings *wire.Settings, first *session) error {
	others, conn, err := connectOthers(ctx, settings, first, c.Connections-1)
	if conn != nil {
		defer conn.Close()
	}
	if err != nil {
		g.lacks("the server takes no more connections", err)
	}
	if conn == nil || len(others) == 0 {
		closeAll(others)
		return first.begin(ctx)
	}
	others, lockErr, err := g.beginLocked(ctx, c, conn, first, others)
	if lockErr != nil && err == nil && ctx.Err() == nil {
		closeAll(others)
		g.fewer = &source.IndivisibleError{Reason: whyNotLocked(ctx, first, c.LockWait, lockErr), Err: lockErr}
		return first.begin(ctx) // another time: what has begun under a lock that was lost may be another moment
	}
	g.idle, g.moment.Connections = others, 1+len(others)
	return cmp.Or(err, first.Explain(ctx, beginning, ctx.Err()))
}

// lacks notes why there are fewer connections than wanted.
func (g *group) lacks(reason string, err error) {
	g.fewer = &source.IndivisibleError{Reason: reason + ": " + err.Error(), Err: err}
}

// beginLocked takes the lock, has all begin, and releases it. It returns the others that have begun, an error of the
// lock, after which all may be of different moments, and one of first.
func (g *group) beginLocked(
	ctx context.Context, c Config, conn *wire.Conn, first *session, others []*session,
) (begun []*session, lockErr, err error) {
	limited, cancel := context.WithTimeout(ctx, c.LockWait)
	defer cancel()
	l, err := takeLock(limited, conn, c.LockWait)
	if err != nil {
		return others, err, nil
	}
	underLock(limited, conn.ID)
	errs := make([]error, 1+len(others))
	all := make(chan struct{})
	go func() {
		defer close(all)
		var beginning sync.WaitGroup
		for i, s := range append([]*session{first}, others...) {
			beginning.Go(func() { errs[i] = s.begin(ctx) })
		}
		beginning.Wait()
	}()
	position, positionErr := l.position(limited)
	select {
	case <-all:
	case <-limited.Done():
	}
	held, releaseErr := l.release(limited)
	<-all // none waits for the lock
	g.moment.Held, g.position = held, position
	for i, s := range others {
		if errs[1+i] == nil {
			begun = append(begun, s)
		} else {
			s.Close()
			g.lacks("a connection was lost", errs[1+i])
		}
	}
	return begun, cmp.Or(positionErr, releaseErr), errs[0]
}

// connectOthers connects up to n sessions at the same time, and one connection for the lock. All are of the server of
// the first session: one address can lead to several. The error is that of one which is missing.
func connectOthers(
	ctx context.Context, settings *wire.Settings, first *session, n int,
) (others []*session, conn *wire.Conn, err error) {
	all, errs := make([]*session, n), make([]error, n+1)
	var connecting sync.WaitGroup
	connecting.Go(func() {
		if conn, errs[n] = wire.Connect(ctx, settings); errs[n] == nil && conn.Server != first.Server {
			conn.Close()
			conn, errs[n] = nil, errServers
		}
	})
	for i := range all {
		connecting.Go(func() { all[i], errs[i] = connectOther(ctx, settings, first) })
	}
	connecting.Wait()
	for _, one := range errs {
		err = cmp.Or(err, one)
	}
	return slices.DeleteFunc(all, func(s *session) bool { return s == nil }), conn, err
}

var errServers = errors.New("mysql: the address has led to several servers")

// besideTimeout is how many seconds a session waits for the lock of a table that others keep, or wait for, if first may
// have it: they may wait for first, which waits for the session. Only tests change it.
var besideTimeout = 5

// underLock is called when a connection holds the lock, which it may until the context ends. Only tests change it.
var underLock = func(ctx context.Context, connection int64) {}

// connectOther connects a session to the server of the first one.
func connectOther(ctx context.Context, settings *wire.Settings, first *session) (*session, error) {
	s, err := connect(ctx, settings)
	if err != nil {
		return nil, err
	}
	if err = s.Exec(ctx, fmt.Sprintf("SET SESSION lock_wait_timeout = %d", besideTimeout)); s.Server != first.Server {
		err = errServers
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func closeAll(sessions []*session) {
	for _, s := range sessions {
		s.Close()
	}
}

// take returns up to n idle sessions, and why there are fewer.
func (g *group) take(n int) (taken []*session, fewer *source.IndivisibleError) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.idle = slices.DeleteFunc(g.idle, func(s *session) bool { return s.Gone })
	at := max(0, len(g.idle)-n)
	taken = slices.Clone(g.idle[at:])
	g.idle = g.idle[:at]
	if len(taken) < n {
		fewer = g.fewer
	}
	return taken, fewer
}

// put takes sessions back that nobody reads with any more.
func (g *group) put(sessions ...*session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		closeAll(sessions)
		return
	}
	g.idle = append(g.idle, sessions...)
}

// close closes all that are idle, and has others closed that are put back.
func (g *group) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	closeAll(g.idle)
	g.idle, g.closed = nil, true
}

// Beside returns connections that have begun together with this one. See [source.Grouped].
//
// Others may wait to change a table that this one has looked at, and who reads it then waits for them in turn. So the
// others wait for locks no longer than a few seconds. The error of their rows is [source.ErrLocked] then.
func (db *DB) Beside(n int) ([]source.Source, *source.IndivisibleError) {
	db.group.started.Wait()
	taken, fewer := db.group.take(n)
	var all []source.Source
	for _, s := range taken {
		s.learnFrom(db.session)
		all = append(all, &DB{session: s, group: db.group, first: db.session})
	}
	return all, fewer
}

// Moment returns how many connections have begun together, and for how long nobody else could commit.
func (db *DB) Moment() source.Moment { return db.group.moment }

// learnFrom has the session know the tables that another one of the group has looked at, which keeps others from
// altering them.
func (s *session) learnFrom(first *session) {
	s.sqlMode, s.taken = first.sqlMode, first.taken
	s.converted = maps.Clone(first.converted)
	copies := map[*facts]*facts{}
	copied := func(all map[string]*facts) map[string]*facts {
		same := make(map[string]*facts, len(all))
		for key, f := range all {
			if copies[f] == nil {
				one := *f
				one.make = nil
				copies[f] = &one
			}
			same[key] = copies[f]
		}
		return same
	}
	s.names, s.facts = copied(first.names), copied(first.facts)
}
