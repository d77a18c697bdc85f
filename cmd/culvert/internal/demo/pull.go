package demo

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"

	"culvert/fileservice/client"
	"culvert/fileservice/server"
	"culvert/fileservice/transfer"
	"culvert/internal/keyfile"
	"culvert/secureconn"
)

// pull serves the directory of the file to another identity on the loopback interface, and pulls the file from there.
// The stages that follow work on what was pulled.
func (d *demo) pull(ctx context.Context, s *stageFigures, serving *keyfile.Key) (err error) {
	pulling, err := keyfile.Generate()
	if err != nil {
		return err
	}
	listener, err := secureconn.Listen("tcp", "127.0.0.1:0", &secureconn.Config{
		Key: serving.ConnectionKey(), Peers: []string{pulling.Fingerprint()},
	})
	if err != nil {
		return err
	}
	stop, err := serve(listener, filepath.Dir(d.file))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()

	config := &secureconn.Config{Key: pulling.ConnectionKey(), Peers: []string{serving.Fingerprint()}}
	client, err := client.New(client.Config{Dial: func(ctx context.Context) (net.Conn, error) {
		return secureconn.Dial(ctx, "tcp", listener.Addr().String(), config)
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	root, err := os.OpenRoot(filepath.Dir(d.decrypted))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	name := filepath.Base(d.file)
	result, err := transfer.Pull(ctx, client.Place(), transfer.Config{Remote: name, Root: root, Local: name})
	if err != nil {
		return err
	}
	s.BytesIn, s.BytesOut, s.moved = result.Bytes, result.Bytes, result.Bytes
	d.file = filepath.Join(root.Name(), name)
	return nil
}

// serve serves a directory until it is stopped.
func serve(listener net.Listener, dir string) (stop func() error, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	server, err := server.New(server.Config{Root: root})
	if err != nil {
		return nil, errors.Join(err, listener.Close(), root.Close())
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	return func() error { return errors.Join(server.Close(), <-served, root.Close()) }, nil
}
