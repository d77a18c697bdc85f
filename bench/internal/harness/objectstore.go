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

// Store is a running SeaweedFS with a bucket.
type Store struct {
	Tree     *Tree
	Endpoint string   // a URL
	Env      []string // for clients of S3
}

// The credentials that the server accepts.
const (
	storeKey    = "bench"
	storeSecret = "bench-secret"
)

// ObjectStore returns the path of SeaweedFS: in PATH, or where ./dev test installs it.
func ObjectStore() (string, error) {
	if path, err := exec.LookPath("weed"); err == nil {
		return path, nil
	}
	cache, err := os.UserCacheDir()
	if err == nil {
		cache, err = exec.LookPath(filepath.Join(cache, "culvert", "bin", "weed"))
	}
	if err != nil {
		return "", errors.New("SeaweedFS was not found; ./dev test installs it")
	}
	return cache, nil
}

// StartObjectStore starts SeaweedFS, and makes a bucket. The server ends with the session.
func (s *Session) StartObjectStore(bucket string) (*Store, error) {
	program, err := ObjectStore()
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(8)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.Dir, "store")
	file := filepath.Join(dir, "s3.json")
	config := fmt.Sprintf(`{"identities":[{"name":"bench","credentials":[{"accessKey":%q,"secretKey":%q}],`+
		`"actions":["Admin","Read","Write","List"]}]}`, storeKey, storeSecret)
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(file, []byte(config), 0o600)); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "server", "-dir="+dir, "-ip=127.0.0.1", "-filer", "-filer.port="+ports[1],
		"-filer.port.grpc="+ports[2], "-master.port="+ports[3], "-master.port.grpc="+ports[4],
		"-master.volumeSizeLimitMB=1024", "-volume.port="+ports[5], "-volume.port.grpc="+ports[6], "-volume.max=100",
		"-volume.minFreeSpacePercent=0", "-s3", "-s3.port="+ports[0], "-s3.port.grpc="+ports[7],
		"-s3.port.iceberg=0", "-s3.port.lance=0", "-s3.config="+file)
	store := &Store{Tree: NewTree("server", cmd), Endpoint: "http://127.0.0.1:" + ports[0]}
	store.Env = []string{
		"AWS_ACCESS_KEY_ID=" + storeKey, "AWS_SECRET_ACCESS_KEY=" + storeSecret, "AWS_REGION=us-east-1",
		"AWS_ENDPOINT_URL=" + store.Endpoint, "S3_ENDPOINT_URL=" + store.Endpoint, "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CA_BUNDLE=", // which old clients cannot use
	}
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
	return store, s.awaitStore(store.Endpoint, "http://127.0.0.1:"+ports[1]+"/buckets/"+bucket+"/")
}

// awaitStore waits until the server answers and has made a bucket.
func (s *Session) awaitStore(endpoint, bucket string) error {
	for deadline := time.Now().Add(time.Minute); ; {
		err := errors.Join(request(s.Ctx, http.MethodPost, bucket), request(s.Ctx, http.MethodGet, endpoint))
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
