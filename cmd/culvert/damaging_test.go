package main

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"culvert/fileservice/server"
	"culvert/secureconn"
)

// damaging serves a directory to a fingerprint, and exchanges a byte of each file that has a thousand times the letter
// a, before it is encrypted. Its URL goes into a variable:
//
//	damaging VARIABLE FINGERPRINT DIRECTORY
func damaging(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: damaging VARIABLE FINGERPRINT DIRECTORY")
	}
	public, private, err := ed25519.GenerateKey(nil)
	ts.Check(err)
	root, err := os.OpenRoot(ts.MkAbs(args[2]))
	ts.Check(err)
	server, err := server.New(server.Config{Root: root})
	ts.Check(err)
	listener, err := secureconn.Listen("tcp", "127.0.0.1:0", &secureconn.Config{Key: private, Peers: args[1:2]})
	ts.Check(err)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(damagingListener{listener}) }()
	ts.Defer(func() { ts.Check(errors.Join(server.Close(), <-ended, root.Close())) })
	ts.Setenv(args[0], "culvert://"+secureconn.Fingerprint(public)+"@"+listener.Addr().String()+"/")
}

type damagingListener struct{ net.Listener }

func (l damagingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return damagingConn{conn.(*secureconn.Conn)}, nil
}

type damagingConn struct{ *secureconn.Conn }

func (c damagingConn) Write(p []byte) (int, error) {
	if at := bytes.Index(p, bytes.Repeat([]byte("a"), 1000)); at >= 0 {
		p = bytes.Clone(p)
		p[at] = 'b'
	}
	return c.Conn.Write(p)
}

// letters makes a file of so many times a text:
//
//	letters FILE TEXT COUNT
func letters(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: letters FILE TEXT COUNT")
	}
	count, err := strconv.Atoi(args[2])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(args[1], count)), 0o644))
}
