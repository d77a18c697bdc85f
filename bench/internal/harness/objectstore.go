package harness

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Store is a running server of S3 with a bucket.
type Store struct {
	Tree    *Tree
	Address string // host:port
}

// ObjectStores are the names of the servers that StartObjectStore knows.
var ObjectStores = []string{"seaweedfs", "versitygw"}

// The credentials that the servers accept.
const (
	storeKey    = "bench"
	storeSecret = "bench-secret"
)

// Env is for clients of the store at an address, its own or a proxy's.
func (*Store) Env(address string) []string {
	endpoint := "http://" + address
	return []string{
		"AWS_ACCESS_KEY_ID=" + storeKey, "AWS_SECRET_ACCESS_KEY=" + storeSecret, "AWS_REGION=us-east-1",
		"AWS_ENDPOINT_URL=" + endpoint, "S3_ENDPOINT_URL=" + endpoint, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CA_BUNDLE=", // which old clients cannot use
	}
}

// ObjectStore returns the path of a store's program: in PATH, or where ./dev installs it.
func ObjectStore(store string) (string, error) {
	name := store
	if store == "seaweedfs" {
		name = "weed"
	}
	path, err := Program(name)
	if err != nil {
		return "", fmt.Errorf("%w; ./dev test-places installs it", err)
	}
	return path, nil
}

// StartObjectStore starts one of ObjectStores, and makes a bucket. The server ends with the session.
func (s *Session) StartObjectStore(name, bucket string) (*Store, error) {
	dir := filepath.Join(s.Dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if name == "versitygw" {
		return s.startVersity(dir, bucket)
	}
	return s.startSeaweed(dir, bucket)
}

// startVersity starts versitygw, which keeps objects as files.
func (s *Session) startVersity(dir, bucket string) (*Store, error) {
	program, err := ObjectStore("versitygw")
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	meta, data := filepath.Join(dir, "meta"), filepath.Join(dir, "data")
	if err := errors.Join(os.Mkdir(meta, 0o700), os.MkdirAll(filepath.Join(data, bucket), 0o700)); err != nil {
		return nil, err
	}
	address := "127.0.0.1:" + ports[0]
	cmd := exec.Command(program, "--port", address, "--quiet", "posix", "--sidecar", meta, data)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+storeKey, "ROOT_SECRET_KEY="+storeSecret)
	store := &Store{NewTree("server", cmd), address}
	server, err := StartProcess(cmd)
	if err != nil {
		return nil, err
	}
	s.Cleanup(func() error {
		_ = server.Stop() // its exit code says nothing
		return nil
	})
	return store, s.awaitStore(func() error { return request(s.Ctx, http.MethodGet, "http://"+address) })
}

func (s *Session) startSeaweed(dir, bucket string) (*Store, error) {
	program, err := ObjectStore("seaweedfs")
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(8)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "s3.json")
	config := fmt.Sprintf(`{"identities":[{"name":"bench","credentials":[{"accessKey":%q,"secretKey":%q}],`+
		`"actions":["Admin","Read","Write","List"]}]}`, storeKey, storeSecret)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "server", "-dir="+dir, "-ip=127.0.0.1", "-filer", "-filer.port="+ports[1],
		"-filer.port.grpc="+ports[2], "-master.port="+ports[3], "-master.port.grpc="+ports[4],
		"-master.volumeSizeLimitMB=1024", "-volume.port="+ports[5], "-volume.port.grpc="+ports[6], "-volume.max=100",
		"-volume.minFreeSpacePercent=0", "-s3", "-s3.port="+ports[0], "-s3.port.grpc="+ports[7],
		"-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.config="+file)
	store := &Store{NewTree("server", cmd), "127.0.0.1:" + ports[0]}
	server, err := StartProcess(cmd)
	if err != nil {
		return nil, err
	}
	s.Cleanup(func() error {
		_ = server.Stop() // its exit code says nothing
		var errs []error
		for _, port := range ports {
			sockets, err := filepath.Glob("/tmp/seaweedfs-*-" + port + ".sock") // wherever TMPDIR is
			errs = append(errs, err)
			for _, socket := range sockets {
				errs = append(errs, os.Remove(socket))
			}
		}
		return errors.Join(errs...)
	})
	buckets := "http://127.0.0.1:" + ports[1] + "/buckets/"
	return store, s.awaitStore(func() error {
		return errors.Join(request(s.Ctx, http.MethodPost, buckets+bucket+"/"),
			request(s.Ctx, http.MethodGet, "http://"+store.Address))
	})
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

func request(ctx context.Context, method, url string) error {
	request, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
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
