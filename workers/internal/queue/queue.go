package queue

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Config says which NATS server is used, and how.
type Config struct {
	// URL names a server, or several of a cluster, separated by commas: nats://HOST:PORT, or tls://HOST:PORT, which
	// requires TLS. If it is empty, a server runs within this process and listens nowhere. Its data are in a temporary
	// directory, which Close removes, and are not synced.
	URL string

	// Credentials is a file with a JWT and the seed of its nkey. Nkey is a file with only a seed. Either may be empty.
	Credentials, Nkey string

	// CA is a PEM file of certificates by which the server is verified, instead of those of the system. Certificate and
	// Key are PEM files that prove who this client is. Each may be empty.
	CA, Certificate, Key string

	// Replicas is the number of servers of a cluster that keep each job. Zero means 1.
	Replicas int

	// AckWait is how long a task may be silent before another worker gets it. Zero means 30 s.
	AckWait time.Duration

	// MaxDeliver is how often a task is given to a worker before it counts as failed. Zero means 5.
	MaxDeliver int

	// Heartbeat is the interval at which live processes report. Zero means 1 s.
	Heartbeat time.Duration

	// Notice is called when the connection is lost, and when it is restored. It may be nil.
	Notice func(message string)
}

func (c Config) withDefaults() Config {
	if c.Replicas == 0 {
		c.Replicas = 1
	}
	if c.AckWait == 0 {
		c.AckWait = 30 * time.Second
	}
	if c.MaxDeliver == 0 {
		c.MaxDeliver = 5
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = time.Second
	}
	if c.Notice == nil {
		c.Notice = func(string) {}
	}
	return c
}

// Queue is a connection to a NATS server. Its methods may be called concurrently.
type Queue struct {
	config   Config
	embedded *embedded // nil if the server is elsewhere
	conn     *nats.Conn
	stream   jetstream.JetStream
	link     atomic.Pointer[link]
	closed   chan struct{} // the connection is
}

// Open connects to the server of the config, or starts it. It fails if the server cannot be reached now. Afterwards the
// Queue connects again whenever the connection is lost.
func Open(ctx context.Context, config Config) (*Queue, error) {
	q := &Queue{config: config.withDefaults(), closed: make(chan struct{})}
	q.link.Store(newLink())
	address := config.URL
	options, err := q.options()
	if err != nil {
		return nil, err
	}
	if address == "" {
		if q.embedded, err = embed(); err != nil {
			return nil, err
		}
		address = "nats://embedded" // InProcessServer dials it
		options = append(options, nats.InProcessServer(q.embedded.server))
	}
	if q.conn, err = nats.Connect(address, options...); err != nil {
		q.embedded.stop()
		return nil, fmt.Errorf("queue: connecting to %s: %w", redacted(address), err)
	}
	if most := q.conn.MaxPayload(); most > 0 && most < MaxData+overhead {
		q.Close()
		return nil, fmt.Errorf("%w: of %d bytes at most, and %d are needed", ErrPayload, most, MaxData+overhead)
	}
	if q.stream, err = jetstream.New(q.conn); err == nil {
		err = q.again(ctx, func(ctx context.Context) error {
			_, err := q.stream.AccountInfo(ctx)
			return err
		})
	}
	if err != nil {
		q.Close()
		return nil, fmt.Errorf("queue: the server has no JetStream for this user: %w", err)
	}
	return q, nil
}

// options are those of a connection that never gives up.
func (q *Queue) options() ([]nats.Option, error) {
	c := q.config
	options := []nats.Option{
		nats.Name("culvert"), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond),
		nats.Timeout(5 * time.Second), nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2),
		// What is sent while there is no connection fails, and is tried again by again, which knows whether it is still
		// wanted.
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			q.link.Swap(newLink()).lost()
			if err != nil {
				c.Notice("the connection to the queue is lost: " + err.Error())
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { c.Notice("the connection to the queue is restored") }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // the calls that it concerns fail
		nats.ClosedHandler(func(*nats.Conn) { close(q.closed) }),
	}
	if c.URL == "" {
		return options, nil
	}
	if c.Credentials != "" {
		options = append(options, nats.UserCredentials(c.Credentials))
	}
	if c.Nkey != "" {
		option, err := nats.NkeyOptionFromSeed(c.Nkey)
		if err != nil {
			return nil, fmt.Errorf("queue: the nkey in %s: %w", c.Nkey, err)
		}
		options = append(options, option)
	}
	if c.CA != "" || c.Certificate != "" || strings.HasPrefix(c.URL, "tls://") {
		options = append(options, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	if c.CA != "" {
		options = append(options, nats.RootCAs(c.CA))
	}
	if c.Certificate != "" {
		options = append(options, nats.ClientCert(c.Certificate, c.Key))
	}
	return options, nil
}

// redacted returns URLs without passwords.
func redacted(urls string) string {
	all := strings.Split(urls, ",")
	for i, one := range all {
		u, err := url.Parse(one)
		if err != nil {
			all[i] = "(not a URL)"
			continue
		}
		all[i] = u.Redacted()
	}
	return strings.Join(all, ",")
}

// Close ends the connection, and the server within this process. Calls under way fail.
func (q *Queue) Close() {
	q.conn.Close()
	<-q.closed
	q.embedded.stop()
}

// Shared reports whether the server is elsewhere, so that other processes may use it.
func (q *Queue) Shared() bool { return q.embedded == nil }

// Heartbeat returns the interval at which live processes report.
func (q *Queue) Heartbeat() time.Duration { return q.config.Heartbeat }
