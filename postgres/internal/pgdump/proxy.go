package pgdump

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"culvert/postgres/internal/wire"
	"culvert/source"
)

// grace is how long to wait for the server when a connection is closed.
const grace = 5 * time.Second

// proxy is a socket on which one client, which needs no password, uses a connection to a server.
type proxy struct {
	directory string // with the socket in it
	listener  net.Listener
	conn      *pgconn.PgConn // to cancel what it does
	server    *pgconn.HijackedConn
	served    sync.WaitGroup
}

// port is a part of the name of the socket.
const port = "5432"

// listen connects to the server, and makes the socket. The error is a [*source.NoSchemaError] unless the context ended.
func listen(ctx context.Context, config *pgconn.Config) (*proxy, error) {
	p, err := newProxy(ctx, config)
	if err != nil && ctx.Err() == nil {
		return nil, &source.NoSchemaError{Reason: "pg_dump gets no connection", Err: err}
	}
	return p, err
}

func newProxy(ctx context.Context, config *pgconn.Config) (_ *proxy, err error) {
	p := new(proxy)
	if p.conn, err = wire.Connect(ctx, config, grace); err != nil {
		return nil, err
	}
	// pg_dump writes strings as this parameter says, and [Split] reads them as the standard does.
	if _, err := p.conn.Exec(ctx, "SET standard_conforming_strings = on").ReadAll(); err != nil {
		wire.Close(p.conn, "ROLLBACK", grace)
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if err := p.conn.SyncConn(ctx); err != nil {
		wire.Close(p.conn, "ROLLBACK", grace)
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if p.server, err = p.conn.Hijack(); err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	if p.directory, err = os.MkdirTemp("", "culvert-"); err != nil { // which only the user can open
		return nil, errors.Join(err, p.server.Conn.Close())
	}
	if p.listener, err = net.Listen("unix", filepath.Join(p.directory, ".s.PGSQL."+port)); err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.directory), p.server.Conn.Close())
	}
	p.served.Go(p.serve)
	return p, nil
}

// serve passes on what one client and the server say.
func (p *proxy) serve() {
	client, err := p.listener.Accept()
	if err != nil {
		return
	}
	_ = os.RemoveAll(p.directory)           // now, since this process may be killed; close says if that fails
	if err := p.greet(client); err == nil { // otherwise the client says so
		var back sync.WaitGroup
		back.Go(func() {
			// The client notices that the connection ends; so does the server.
			_, _ = io.Copy(client, p.server.Conn)
			_ = client.Close()
		})
		_, _ = io.Copy(p.server.Conn, client)
		// The client has said that it ends. When the server has closed the connection, it can accept another.
		_ = p.server.Conn.SetReadDeadline(time.Now().Add(grace))
		back.Wait()
		_ = p.server.Conn.Close()
	}
	_ = client.Close()
}

// greet answers the client as a server that needs no password, with the state of the connection to the real one.
func (p *proxy) greet(client net.Conn) error {
	backend := pgproto3.NewBackend(client, client)
	for {
		message, err := backend.ReceiveStartupMessage()
		if err != nil {
			return err
		}
		switch message.(type) {
		case *pgproto3.SSLRequest, *pgproto3.GSSEncRequest:
			if _, err := client.Write([]byte("N")); err != nil {
				return err
			}
			continue
		case *pgproto3.StartupMessage:
		default:
			return fmt.Errorf("postgres: a client began with %T", message)
		}
		break
	}
	backend.Send(&pgproto3.AuthenticationOk{})
	for name, value := range p.server.ParameterStatuses {
		backend.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
	}
	backend.Send(&pgproto3.BackendKeyData{ProcessID: p.server.PID, SecretKey: p.server.SecretKey})
	backend.Send(&pgproto3.ReadyForQuery{TxStatus: p.server.TxStatus})
	return backend.Flush()
}

// end is close. What the client has asked for is canceled unless it has ended by itself: a server that waits for a lock
// does not notice that its client is gone.
func (p *proxy) end(byItself bool) error {
	if !byItself {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		_ = p.conn.CancelRequest(ctx) // what it fails for ends the connection too
		_ = p.server.Conn.Close()
	}
	return p.close()
}

// close ends both connections, and removes the socket.
func (p *proxy) close() error {
	err := p.listener.Close()
	p.served.Wait()
	_ = p.server.Conn.Close() // which the server may have closed
	return errors.Join(err, os.RemoveAll(p.directory))
}
