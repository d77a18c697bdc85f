// Package serve is the verb that serves a directory to other machines.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/cmd/culvert/internal/help"
	"culvert/cmd/culvert/internal/ui"
	"culvert/fileservice/server"
	"culvert/secureconn"
)

// options are the flags of culvert serve.
type options struct {
	argument.KeyFlags
	listen   string
	allow    []string
	writable bool
	metrics  command.MetricsFlag
	drain    time.Duration
	limits   server.Config

	json, verbose, quiet bool
}

// Report is the report of culvert serve, at its beginning and at its end.
type Report struct {
	command.Outcome
	URLs        []string `json:"urls,omitempty"`
	Fingerprint string   `json:"fingerprint,omitempty"`
	Directory   string   `json:"directory"`
	Writable    bool     `json:"writable"`
	Allowed     int      `json:"allowed"`
	Metrics     string   `json:"metrics,omitempty"`

	*servedFigures // only at the end
}

// servedFigures are what a server has done.
type servedFigures struct {
	BytesRead    int64   `json:"bytes_read"`
	BytesWritten int64   `json:"bytes_written"`
	Calls        int64   `json:"calls"`
	Errors       int64   `json:"errors"`
	Connections  int64   `json:"connections"`
	Rejected     int64   `json:"rejected"`
	Seconds      float64 `json:"seconds"`
	PeakMemory   int64   `json:"peak_memory_bytes"`
}

// Text implements [command.Report].
func (r *Report) Text() string { return "" }

// New returns culvert serve.
func New(a *command.App) *cobra.Command {
	o := &options{}
	cmd := help.Command("serve")
	cmd.Args = command.Exactly(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s := &serving{app: a, options: o, report: &Report{Directory: args[0], Writable: o.writable}}
		s.report.Command = cmd.Name()
		err := s.run(cmd.Context())
		return a.Deliver(cmd, s.report, a.Stdout, o.json, command.Interruption(cmd.Context(), err))
	}
	o.add(cmd)
	return cmd
}

func (o *options) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.listen, "listen", ":"+argument.DefaultPort, "listen at `ADDR`: a host, a port or both")
	flags.StringArrayVar(&o.allow, "allow", nil,
		"let `FINGERPRINT|FILE` connect: a fingerprint, or a file with one in each line; repeatable")
	flags.BoolVar(&o.writable, "writable", false, "let clients write too")
	o.KeyFlags.Add(cmd)
	o.metrics.Add(cmd)
	flags.DurationVar(&o.drain, "drain", 30*time.Second, "at the end, wait at most `TIME` for calls")
	limits := &o.limits
	flags.IntVar(&limits.MaxConnections, "max-connections", server.DefaultMaxConnections,
		"allow `N` connections; close idle ones for more")
	flags.IntVar(&limits.MaxCalls, "max-calls", server.DefaultMaxCalls, "allow `N` calls at once on each connection")
	flags.IntVar(&limits.MaxBuffers, "max-buffers", server.DefaultMaxBuffers,
		"use `N` buffers of 256 KiB for data")
	flags.DurationVar(&limits.HandshakeTimeout, "handshake-timeout", server.DefaultHandshakeTimeout,
		"drop a connection without handshake after `TIME`")
	flags.DurationVar(&limits.StallTimeout, "stall-timeout", server.DefaultStallTimeout,
		"drop a client that moves no byte for `TIME`")
	flags.DurationVar(&limits.IdleTimeout, "idle-timeout", server.DefaultIdleTimeout,
		"close connections without calls after `TIME`")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	flags.BoolVarP(&o.verbose, "verbose", "v", false, "show each call and each connection")
	flags.BoolVar(&o.quiet, "quiet", false, "show nothing but the URLs")
	cmd.MarkFlagsMutuallyExclusive("verbose", "quiet")
}

func (o *options) check() error {
	l := &o.limits
	for flag, n := range map[string]int{
		"max-connections": l.MaxConnections, "max-calls": l.MaxCalls, "max-buffers": l.MaxBuffers,
	} {
		if n < 1 || n > 1<<20 {
			return command.Usagef("--%s is %d, and must be from 1 to %d", flag, n, 1<<20)
		}
	}
	for flag, d := range map[string]time.Duration{
		"handshake-timeout": l.HandshakeTimeout, "stall-timeout": l.StallTimeout, "idle-timeout": l.IdleTimeout,
	} {
		if d <= 0 {
			return command.Usagef("--%s is %v, and must be more than 0", flag, d)
		}
	}
	if o.drain < 0 {
		return command.Usagef("--drain is %v, and must not be less than 0", o.drain)
	}
	return nil
}

// allowed returns the fingerprints of those who may connect. The own one is for the hint.
func (o *options) allowed(ctx context.Context, a *command.App, own string) ([]string, error) {
	if len(o.allow) == 0 {
		return nil, command.WithHint(command.Usagef("nobody can connect: --allow is missing"),
			"culvert keygen, on the other machine, prints its fingerprint; give it here: --allow FINGERPRINT",
			"for others with this same identity: --allow "+own)
	}
	return argument.Fingerprints(a.KeyReader(ctx, &o.PassphraseFlags), "--allow", o.allow)
}

// serving is one run of culvert serve.
type serving struct {
	app      *command.App
	options  *options
	report   *Report
	access   *access
	observer *observer
	start    time.Time
}

// closing is how long connections have to close that are cut. One whose client takes nothing waits for it longer, which
// helps nobody when the program ends.
const closing = 2 * time.Second

// errDrained ends the wait for calls under way.
var errDrained = errors.New("calls under way were cut off")

func (s *serving) run(ctx context.Context) (err error) {
	command.CollectEvery(command.TransferRoom)
	o := s.options
	if err := o.check(); err != nil {
		return err
	}
	key, err := o.Key(ctx, s.app)
	if err != nil {
		return err
	}
	s.report.Fingerprint = key.Fingerprint()
	peers, err := o.allowed(ctx, s.app, key.Fingerprint())
	if err != nil {
		return err
	}
	s.report.Allowed = len(peers)
	s.access = &access{peers: peers, conns: map[*accessConn]struct{}{}}
	root, err := openTree(s.report.Directory)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	argument.WarnOfKeys(s.app.Console, s.report.Directory, o.KeyFiles())

	s.observer = newObserver(s.app.Console, o.verbose, !o.quiet && !o.json)
	stopMetrics, err := s.startMetrics()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopMetrics()) }()
	listener, err := secureconn.Listen("tcp", listenAddress(o.listen), &secureconn.Config{
		Key: key.ConnectionKey(), Authorize: s.access.authorize, HandshakeTimeout: o.limits.HandshakeTimeout,
	})
	if err != nil {
		return command.ListenError(err, "--listen", o.listen)
	}
	config := o.limits
	config.Root, config.Writable, config.Observer = root, o.writable, s.observer.hooks()
	server, err := server.New(config)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	hangups, stop := s.listenForHangups()
	defer stop()
	s.app.WaitFor(o.drain + 5*closing)
	if err := s.announce(listener.Addr()); err != nil {
		return errors.Join(err, listener.Close())
	}
	return s.serve(ctx, server, accessListener{listener, s.access}, hangups)
}

// serve runs the server until the context ends, and lets it drain.
func (s *serving) serve(
	ctx context.Context, server *server.Server, listener net.Listener, hangups <-chan os.Signal,
) error {
	defer s.finish()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	for running := true; running; {
		select {
		case err := <-ended:
			return errors.Join(err, server.Close())
		case <-hangups:
			s.reload(ctx)
		case <-ctx.Done():
			running = false
		}
	}
	s.say(fmt.Sprintf("culvert: stopping; calls under way have %v", s.options.drain))
	drain, cancel := context.WithTimeoutCause(context.Background(), s.options.drain, errDrained)
	defer cancel()
	down := make(chan error, 1)
	go func() { down <- errors.Join(server.Shutdown(drain), <-ended) }()
	var err error
	select {
	case err = <-down:
	case <-drain.Done():
		select {
		case err = <-down:
		case <-time.After(closing):
			err = errDrained
		}
	}
	if errors.Is(err, errDrained) {
		s.say("culvert: " + errDrained.Error())
	}
	return err
}

// announce says where the server is.
func (s *serving) announce(address net.Addr) error {
	s.start = time.Now()
	r := s.report
	r.URLs = serverURLs(r.Fingerprint, address)
	if s.options.json {
		return ui.WriteJSON(s.app.Stdout, r)
	}
	for _, u := range r.URLs {
		if _, err := fmt.Fprintln(s.app.Stdout, u); err != nil {
			return err
		}
	}
	access := "read only"
	if r.Writable {
		access = "writable"
	}
	if r.Metrics != "" {
		s.say("culvert: figures at " + r.Metrics)
	}
	s.say(fmt.Sprintf("culvert: serving %s, %s, to %s; Ctrl-C ends it", ui.Name(r.Directory), access,
		ui.Several(int64(r.Allowed), "fingerprint")))
	return nil
}

// finish notes the figures, and shows them.
func (s *serving) finish() {
	f := s.observer.figures()
	elapsed := time.Since(s.start)
	f.Seconds, f.PeakMemory = elapsed.Seconds(), ui.PeakMemory()
	s.report.servedFigures = f
	s.say(fmt.Sprintf("%s: %s, %s, %s read, %s written, %s, %s, peak memory %s", s.report.Directory,
		ui.Several(f.Connections, "connection"), ui.Several(f.Calls, "call"), ui.Bytes(f.BytesRead),
		ui.Bytes(f.BytesWritten), ui.Several(f.Errors, "error"), ui.Duration(elapsed), ui.Memory(f.PeakMemory)))
}

// say shows people a line.
func (s *serving) say(text string) {
	if !s.options.quiet && !s.options.json {
		s.app.Console.Print(text)
	}
}

// openTree opens the directory to serve.
func openTree(dir string) (*os.Root, error) {
	info, err := os.Stat(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("directory %q does not exist", dir)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, command.WithHint(command.Usagef("%q is not a directory", dir),
			"serve the directory that it is in; the name of the file comes at the end of the URL")
	}
	return os.OpenRoot(dir)
}
