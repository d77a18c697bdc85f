package harness

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"culvert/internal/testkit/stores"
)

// Store is a running server of S3 with a bucket.
type Store struct {
	Tree    *Tree
	Address string // host:port
}

// ObjectStores are the names of the servers that StartObjectStore knows.
var ObjectStores = []string{"seaweedfs", "versitygw"}

// Env is for clients of the store at an address, its own or a proxy's.
func (*Store) Env(address string) []string {
	endpoint := "http://" + address
	return append(stores.Credentials(),
		"AWS_REGION=us-east-1",
		"AWS_ENDPOINT_URL="+endpoint, "S3_ENDPOINT_URL="+endpoint, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CA_BUNDLE=", // which old clients cannot use
	)
}

// StartObjectStore starts one of ObjectStores, with the bucket stores.Bucket. The server ends with the session.
func (s *Session) StartObjectStore(name string) (*Store, error) {
	dir := filepath.Join(s.Dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	launch, err := stores.NewLaunch(name, dir)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(launch.Program, launch.Args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), launch.Env...)
	store := &Store{NewTree("server", cmd), launch.Address}
	server, err := StartProcess(cmd)
	if err != nil {
		return nil, err
	}
	s.Cleanup(func() error {
		_ = server.Stop() // its exit code says nothing
		var errs []error
		for _, pattern := range launch.Leftovers {
			files, err := filepath.Glob(pattern)
			errs = append(errs, err)
			for _, file := range files {
				errs = append(errs, os.Remove(file))
			}
		}
		return errors.Join(errs...)
	})
	return store, s.awaitStore(launch.Ready)
}

// awaitStore waits until a server is ready.
func (s *Session) awaitStore(ready func() error) error {
	for deadline := time.Now().Add(time.Minute); ; {
		err := ready()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-s.Ctx.Done():
			return context.Cause(s.Ctx)
		}
	}
}

// freePorts returns ports of the loopback interface that nobody listens at.
func freePorts(n int) (ports []string, err error) {
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = listener.Close() }() // all at the end, so that they differ
		_, port, err := net.SplitHostPort(listener.Addr().String())
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}
