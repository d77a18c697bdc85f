package harness

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"culvert/internal/testkit/stores"
)

// Store is a running server of S3 with a bucket.
type Store struct {
	Tree    *Tree
	Address string // host:port
}

// Env is for clients of the store at an address, its own or a proxy's.
func (*Store) Env(address string) []string {
	endpoint := "http://" + address
	return append(stores.Credentials(),
		"AWS_REGION=us-east-1",
		"AWS_ENDPOINT_URL="+endpoint, "S3_ENDPOINT_URL="+endpoint, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CA_BUNDLE=", // which old clients cannot use
	)
}

// StartObjectStore starts a store that package stores has, with the bucket stores.Bucket. It ends with the session.
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
	return store, s.await(launch.Ready)
}
