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
)

// grace is how long to wait for the server when a connection is closed.
const grace = 5 * time.Second

// proxy is a socket on which one client, which needs no password, uses a connection to a server.
type proxy struct {
	directory string // with the socket in it
	listener  net.Listener
	server    *pgconn.HijackedConn

	served sync.WaitGroup
	err    error // of the handshake with the client, once served
}

// port is a part of the name of the socket.
const port = "5432"

// listen connects to the server, and makes the socket.
func listen(ctx context.Context, config *pgconn.Config) (_ *proxy, err error) {
	conn, err := wire.Connect(ctx, config, grace)
	if err != nil {
		return nil, err
	}
	if err := conn.SyncConn(ctx); err != nil {
		wire.Close(conn, "ROLLBACK", grace)
		return nil, fmt.Errorf("postgres: %w", err)
	}
	p := new(proxy)
	if p.server, err = conn.Hijack(); err != nil {
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
		p.err = err
		return
	}
	if p.err = p.greet(client); p.err == nil {
		var back sync.WaitGroup
		back.Go(func() {
			// The client notices that the connection ends; so does the server.
			_, _ = io.Copy(client, p.server.Conn)
			_ = client.Close()
		})
		_, _ = io.Copy(p.server.Conn, client)
		_ = p.server.Conn.Close()
		back.Wait()
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

// close ends both connections, and removes the socket.
func (p *proxy) close() error {
	err := p.listener.Close()
	_ = p.server.Conn.Close() // which the server may have closed
	p.served.Wait()
	return errors.Join(err, os.RemoveAll(p.directory))
}
