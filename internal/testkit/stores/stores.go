// Package stores starts object stores for tests. A test binary starts each at most once, on a free loopback port,
// unless [StartShared] has done so for all test binaries. All tests share the server and its one bucket:
//
//	for _, store := range stores.All(t) {
//		url := store.URL(t) // of an empty prefix
//	}
//
// SeaweedFS, which is quick to install, runs in every test, and so does fake-gcs-server if it is installed. The others,
// with which each vendor's protocol is tested, need CULVERT_TEST_PLACES=1, as `./dev test-places` sets it.
package stores

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"culvert/internal/testkit"
)

// Bucket is the name of the bucket that every server has.
const Bucket = "backups"

// What the servers accept. All returns after these are in the environment.
const (
	accessKey = "culvert"
	secretKey = "culvert-secret"

	// The account of Azure's emulators, which is public.
	azureAccount = "devstoreaccount1"
	azureKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// Server is a running object store.
type Server struct {
	Name    string // such as SeaweedFS
	Address string // a host and port of the loopback interface

	scheme    string // s3, gs or azblob
	program   string
	install   string
	startWith func(directory, port string, more []string) (args, env []string)
	ports     int // besides the one of Address
	prepare   func(address, directory string) error

	guard    *testkit.Guard // which ends it with the test binary
	begin    sync.Once
	err      error
	prefixes atomic.Int64
}

var (
	seaweed = &Server{
		Name: "SeaweedFS", scheme: "s3", program: "weed", install: "./dev test does it", ports: 7,
		startWith: seaweedArguments, prepare: createSeaweedBucket,
	}
	versity = &Server{
		Name: "versitygw", scheme: "s3", program: "versitygw", install: "./dev test-places does it",
		startWith: versityArguments,
	}
	gcs = &Server{
		Name: "fake-gcs-server", scheme: "gs", program: "fake-gcs-server", install: "./dev test-places does it",
		startWith: gcsArguments, prepare: createGCSBucket,
	}
	azurite = &Server{
		Name: "azurite", scheme: "azblob", program: "azurite-blob", install: "./dev test-places does it",
		startWith: azuriteArguments, prepare: createContainer,
	}
)

// All returns the servers with which places are tested, and starts them.
func All(tb testing.TB) []*Server {
	tb.Helper()
	servers := []*Server{seaweed}
	_, notInstalled := find(gcs.program)
	switch {
	case os.Getenv("CULVERT_TEST_PLACES") == "1":
		servers = append(servers, versity, gcs, azurite)
	case notInstalled == nil:
		servers = append(servers, gcs)
	}
	for _, s := range servers {
		s.start(tb)
	}
	return servers
}

// S3 returns those servers of [All] that speak the protocol of S3.
func S3(tb testing.TB) (servers []*Server) {
	tb.Helper()
	for _, s := range All(tb) {
		if s.scheme == "s3" {
			servers = append(servers, s)
		}
	}
	return servers
}

// URL returns the URL of a place that is empty.
func (s *Server) URL(tb testing.TB) string { return s.URLThrough(tb, s.Address) }

// URLThrough is URL for a proxy.
func (s *Server) URLThrough(tb testing.TB, address string) string {
	tb.Helper()
	return s.At(fmt.Sprintf("test%s-%d", testkit.ProcessMark, s.prefixes.Add(1)), address)
}

// At returns the URL of a prefix of the bucket, through the server or a proxy.
func (s *Server) At(prefix, address string) string {
	endpoint := "http://" + address
	if s.scheme == "azblob" {
		endpoint += "/" + azureAccount
	}
	return fmt.Sprintf("%s://%s/%s/?endpoint=%s", s.scheme, Bucket, prefix, endpoint)
}

// IsS3 reports whether the server speaks the protocol of S3.
func (s *Server) IsS3() bool { return s.scheme == "s3" }

func (s *Server) start(tb testing.TB) {
	tb.Helper()
	program, err := find(s.program)
	if err != nil {
		testkit.Missing(tb, s.Name, s.install)
	}
	if _, err := exec.LookPath("sh"); err != nil {
		testkit.Missing(tb, "a POSIX shell", "run the tests on a Unix system")
	}
	s.begin.Do(func() { s.err = s.run(program) })
	if s.err != nil {
		tb.Fatalf("starting %s: %v", s.Name, s.err)
	}
}

// find returns the path of a program in PATH, or where ./dev installs it.
func find(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return exec.LookPath(filepath.Join(cache, "culvert", "bin", program))
}

var setEnvironment = sync.OnceValue(func() error {
	var errs []error
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
		"AZURE_STORAGE_ACCOUNT": azureAccount, "AZURE_STORAGE_KEY": azureKey,
	} {
		errs = append(errs, os.Setenv(name, value))
	}
	for _, name := range []string{
		"AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL",
		"AWS_ENDPOINT_URL_S3",
		"AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_SAS_TOKEN", "STORAGE_EMULATOR_HOST",
		"GOOGLE_APPLICATION_CREDENTIALS",
	} {
		errs = append(errs, os.Unsetenv(name))
	}
	return errors.Join(errs...)
})

func (s *Server) run(program string) error {
	if err := setEnvironment(); err != nil {
		return err
	}
	if s.Address = os.Getenv(s.variable()); s.Address != "" {
		return nil
	}
	directory, err := os.MkdirTemp("", "culvert-store-")
	if err != nil {
		return err
	}
	l, err := s.launch(program, directory)
	if err != nil {
		return err
	}
	s.guard, err = testkit.NewGuard(directory, "KILL", func(path string, args ...string) *exec.Cmd {
		cmd := exec.Command(path, args...)
		cmd.Dir, cmd.Env = directory, append(os.Environ(), l.Env...)
		return cmd
	}, l.Leftovers...)
	if err != nil {
		return err
	}
	pid, err := s.guard.Start(program, l.Args...)
	if err != nil {
		return err
	}
	s.Address = l.Address
	return s.guard.Await(pid, time.Minute, l.Ready)
}

// Launch is how a server is started, for programs that measure it and stop it themselves.
type Launch struct {
	Program   string
	Args, Env []string
	Address   string       // a host and port of the loopback interface
	Ready     func() error // returns nil as soon as the server runs and has the bucket
	Leftovers []string     // patterns of files that it leaves outside its directory
}

// Installed returns the error of [NewLaunch] for a server that is not installed.
func Installed(name string) error {
	_, _, err := installed(name)
	return err
}

func installed(name string) (s *Server, program string, err error) {
	for _, s := range []*Server{seaweed, versity} {
		if strings.EqualFold(s.Name, name) {
			if program, err = find(s.program); err != nil {
				err = fmt.Errorf("%w; to install it: %s", err, s.install)
			}
			return s, program, err
		}
	}
	return nil, "", fmt.Errorf("no object store is called %q", name)
}

// NewLaunch prepares to start SeaweedFS or versitygw, with its data in an empty directory.
func NewLaunch(name, directory string) (*Launch, error) {
	s, program, err := installed(name)
	if err != nil {
		return nil, err
	}
	return s.launch(program, directory)
}

// Credentials returns the variables of the environment by which clients of S3 may use a server of [NewLaunch].
func Credentials() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + accessKey, "AWS_SECRET_ACCESS_KEY=" + secretKey}
}

func (s *Server) launch(program, directory string) (*Launch, error) {
	ports, err := testkit.ReservePorts(1 + s.ports)
	if err != nil {
		return nil, err
	}
	l := &Launch{Program: program, Address: "127.0.0.1:" + ports[0]}
	l.Args, l.Env = s.startWith(directory, ports[0], ports[1:])
	l.Env = append(l.Env, "TMPDIR="+directory) // for logs
	for _, port := range ports {
		l.Leftovers = append(l.Leftovers, "/tmp/seaweedfs-*-"+port+".sock") // wherever TMPDIR is
	}
	l.Ready = func() error {
		if s.prepare == nil {
			return get("http://" + l.Address)
		}
		return s.prepare(l.Address, directory)
	}
	return l, nil
}

// variable is that of the environment with the address of a server that several test binaries share.
func (s *Server) variable() string { return "CULVERT_TEST_" + strings.ToUpper(s.Name) }

// StartShared starts SeaweedFS for several test binaries, if it is installed. It returns the variables of the
// environment by which a test binary finds it, and a function that ends it. It also ends with this process.
func StartShared() (variables []string, stop func() error, err error) {
	program, err := find(seaweed.program)
	if err != nil {
		return nil, func() error { return nil }, nil //nolint:nilerr // each test says so that needs it
	}
	if err := seaweed.run(program); err != nil {
		return nil, func() error { return nil }, fmt.Errorf("starting %s: %w", seaweed.Name, err)
	}
	return []string{seaweed.variable() + "=" + seaweed.Address}, seaweed.guard.Close, nil
}

func get(url string) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// post reports an answer that is not in the 200s.
func post(url, kind, body string) error {
	response, err := http.Post(url, kind, strings.NewReader(body))
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 && response.StatusCode != http.StatusConflict {
		err = errors.New(response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

func seaweedArguments(directory, port string, more []string) (args, env []string) {
	config := filepath.Join(directory, "s3.json")
	text := fmt.Sprintf(`{"identities":[{"name":"test","credentials":[{"accessKey":%q,"secretKey":%q}],`+
		`"actions":["Admin","Read","Write","List","Tagging"]}]}`, accessKey, secretKey)
	// A missing file makes the server fail, and its log says so.
	_ = os.WriteFile(config, []byte(text), 0o600)
	// The filer's address is where createSeaweedBucket finds it.
	_ = os.WriteFile(filepath.Join(directory, "filer"), []byte("127.0.0.1:"+more[0]), 0o600)
	return []string{
		"server", "-dir=" + directory, "-ip=127.0.0.1",
		"-filer", "-filer.port=" + more[0], "-filer.port.grpc=" + more[1],
		"-master.port=" + more[2], "-master.port.grpc=" + more[3], "-master.volumeSizeLimitMB=1024",
		"-volume.port=" + more[4], "-volume.port.grpc=" + more[5], "-volume.max=100", "-volume.minFreeSpacePercent=0",
		"-s3", "-s3.autoCreateBucket=false", "-s3.port=" + port, "-s3.port.grpc=" + more[6],
		"-s3.port.iceberg=0", "-s3.port.lance=0",
		"-s3.config=" + config,
	}, nil
}

func createSeaweedBucket(address, directory string) error {
	if err := get("http://" + address); err != nil {
		return err
	}
	filer, err := os.ReadFile(filepath.Join(directory, "filer"))
	if err != nil {
		return err
	}
	return post("http://"+string(filer)+"/buckets/"+Bucket+"/", "", "")
}

func versityArguments(directory, port string, _ []string) (args, env []string) {
	meta, data := filepath.Join(directory, "meta"), filepath.Join(directory, "data")
	// Directories that are missing make the server fail, and its log says so.
	_ = errors.Join(os.Mkdir(meta, 0o700), os.MkdirAll(filepath.Join(data, Bucket), 0o700))
	return []string{"--port", "127.0.0.1:" + port, "posix", "--sidecar", meta, data},
		[]string{"ROOT_ACCESS_KEY=" + accessKey, "ROOT_SECRET_KEY=" + secretKey}
}

func gcsArguments(_, port string, _ []string) (args, env []string) {
	return []string{"-scheme", "http", "-host", "127.0.0.1", "-port", port, "-backend", "memory"}, nil
}

func createGCSBucket(address, _ string) error {
	url := "http://" + address + "/storage/v1/b?project=test"
	return post(url, "application/json", fmt.Sprintf(`{"name":%q}`, Bucket))
}

func azuriteArguments(directory, port string, _ []string) (args, env []string) {
	return []string{
		"--disableTelemetry", "--skipApiVersionCheck", "--silent", "--blobHost", "127.0.0.1", "--blobPort", port,
		"--location", filepath.Join(directory, "data"),
	}, nil
}

func createContainer(address, _ string) error {
	credential, err := container.NewSharedKeyCredential(azureAccount, azureKey)
	if err != nil {
		return err
	}
	url := "http://" + address + "/" + azureAccount + "/" + Bucket
	client, err := container.NewClientWithSharedKeyCredential(url, credential, &container.ClientOptions{
		ClientOptions: policy.ClientOptions{Transport: http.DefaultClient},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err = client.Create(ctx, nil)
	return err
}
