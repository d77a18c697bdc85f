package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"culvert/internal/testkit"
	"culvert/internal/testkit/stores"
	"culvert/manifest"
)

type fault = stores.Fault

// bucketUser is a directory in which commands use buckets.
type bucketUser struct {
	server *stores.Server
	dir    string
	big    []byte // of a file of three parts, called big
}

// withBuckets runs a test with each S3 server. There is a database, shop.db, with the tables orders, of three parts if
// it is not compressed, and t0 to t9.
func withBuckets(t *testing.T, test func(t *testing.T, u *bucketUser)) {
	t.Parallel()
	for _, server := range stores.S3(t) {
		t.Run(server.Name, func(t *testing.T) {
			t.Parallel()
			u := &bucketUser{server: server, dir: t.TempDir(), big: bytes.Repeat([]byte("0123456789abcde\n"), 18<<16)}
			db, err := sqlite3.Open(filepath.Join(u.dir, "shop.db"))
			if err != nil {
				t.Fatal(err)
			}
			sql := "CREATE TABLE orders AS WITH RECURSIVE c(i) AS " +
				"(SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 9000) SELECT i, hex(zeroblob(1000)) FROM c;"
			for i := range 10 {
				sql += fmt.Sprintf("CREATE TABLE t%d AS SELECT %d AS x;", i, i)
			}
			err = errors.Join(db.Exec(sql), db.Close(), os.WriteFile(filepath.Join(u.dir, "big"), u.big, 0o600))
			if err != nil {
				t.Fatal(err)
			}
			u.want(t, 0, "keygen")
			test(t, u)
		})
	}
}

// patience is far more than any command may take: one that takes longer hangs.
const patience = time.Minute

func (u *bucketUser) command(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "culvert", args...)
	cmd.Dir = u.dir
	cmd.Env = append(os.Environ(), "HOME="+u.dir, "XDG_CONFIG_HOME="+u.dir, "AppData="+u.dir)
	said := &bytes.Buffer{}
	cmd.Stderr = said
	return cmd, said
}

// want runs a command, and wants an exit code. It returns both outputs.
func (u *bucketUser) want(t *testing.T, code int, args ...string) (out, said string) {
	t.Helper()
	cmd, stderr := u.command(t, args...)
	stdout, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("culvert %q: exit code %d, want %d: %s", args, got, code, stderr)
	}
	return string(stdout), stderr.String()
}

// proxy returns a proxy, and the URLs of a new object through it and without it.
func (u *bucketUser) proxy(t *testing.T, faults func(*http.Request) *fault) (through, direct string) {
	p := stores.NewProxy(t, u.server, faults)
	direct = u.server.URL(t)
	path, query, _ := strings.Cut(direct, "?")
	direct = path + "object?" + query
	return strings.Replace(direct, u.server.Address, p.Address, 1), direct
}

// wantNothing wants neither an object nor an upload.
func (u *bucketUser) wantNothing(t *testing.T, url string) {
	t.Helper()
	u.want(t, 1, "ls", url)
	path, _, _ := strings.Cut(url, "?")
	key := strings.TrimPrefix(path, "s3://"+stores.Bucket+"/")
	if left := u.server.Unfinished(t, key); len(left) > 0 {
		t.Errorf("there are unfinished uploads: %q", left)
	}
}

func s3Error(code string) string {
	return `<?xml version="1.0"?><Error><Code>` + code + `</Code><Message>so it is</Message></Error>`
}

// long is the time limit of commands that are not to reach it, however busy the machine is.
const long = "40s"

// timeoutFor is the time limit of a command that ends with an exit code.
func timeoutFor(code int) string {
	if code == 13 {
		return "2s"
	}
	return long
}

// writers are the commands that write an object, to which its URL is appended, and what they write.
func (u *bucketUser) writers() map[string][]string {
	return map[string][]string{
		"encrypt": {"encrypt", "big", "-o"},
		"export":  {"export", "--ordered", "shop.db", "orders", "--no-encrypt", "-c", "none", "-o"},
		"push":    {"push", "big"},
	}
}

// TestBucketRecovers has faults that a command overcomes.
func TestBucketRecovers(t *testing.T) {
	withBuckets(t, func(t *testing.T, u *bucketUser) {
		faults := map[string]func(*http.Request) *fault{
			"Internal": stores.Once(stores.Part.Of, fault{Status: 500, Body: s3Error("InternalError")}),
			"SlowDown": stores.Once(stores.Begin.Of, fault{Status: 503, Body: s3Error("SlowDown")}),
			"Damaged":  stores.Once(stores.Part.Of, fault{Corrupt: true}),
			"Lost":     stores.Once(stores.Complete.Of, fault{LoseAnswer: true}),
			"Error200": stores.Once(stores.Complete.Of, fault{Status: 200, Body: s3Error("InternalError")}),
			"Silent":   stores.Once(stores.Part.Of, fault{Hang: true}),
		}
		for _, mebibyte := range []int64{1, 7, 12, 17} {
			of := func(r *http.Request) bool {
				return stores.Part.Of(r) && r.URL.Query().Get("partNumber") == fmt.Sprint(mebibyte/8+1)
			}
			faults[fmt.Sprintf("Cut%dMiB", mebibyte)] = stores.Once(of, fault{CutRequest: mebibyte % 8 << 20})
		}
		wanted, _ := u.want(t, 0, "export", "--ordered", "shop.db", "orders", "--no-encrypt", "-c", "none", "-o", "-")
		for name, choose := range faults {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				through, direct := u.proxy(t, choose)
				verb, content, timeout := "encrypt", string(u.big), long
				switch name {
				case "Silent":
					timeout = "10s"
				case "Damaged":
					verb, content = "export", wanted
				case "Lost", "Cut1MiB", "Cut12MiB":
					verb = "push"
				}
				u.want(t, 0, append(u.writers()[verb], through, "--timeout", timeout)...)
				if out, _ := u.want(t, 0, "cat", direct); out != content {
					t.Errorf("the object has %d bytes, want %d", len(out), len(content))
				}
			})
		}
	})
}

// TestBucketWriteFails has faults that end a command: there is no object and no upload, and the error says which object
// was to be written, and what to do next.
func TestBucketWriteFails(t *testing.T) {
	testkit.Long(t)
	fatal := func(kind stores.Kind, f fault) func(*http.Request) *fault {
		return stores.Always(kind.Of, f)
	}
	again := `hint: run the (same )?command again`
	denied := `hint: credentials, and what they must allow`
	for name, test := range map[string]struct {
		verb   string
		choose func(*http.Request) *fault
		code   int
		says   string
	}{
		"SilentHead":  {"export", fatal(stores.Head, fault{Hang: true}), 13, again},
		"SilentBegin": {"encrypt", fatal(stores.Begin, fault{Hang: true}), 13, again},
		"SilentPart":  {"push", fatal(stores.Part, fault{Hang: true}), 13, again},
		"SilentAfterPart": {"push", func(r *http.Request) *fault {
			if stores.Part.Of(r) && r.URL.Query().Get("partNumber") != "1" || stores.Abort.Of(r) {
				return &fault{Hang: true}
			}
			return nil
		}, 13, again},
		"SilentComplete": {"export", fatal(stores.Complete, fault{Hang: true}), 13, again},
		"StalledPart":    {"encrypt", fatal(stores.Part, fault{CutRequest: 3 << 20, Stall: true}), 13, again},
		"BusyComplete":   {"push", fatal(stores.Complete, fault{Status: 503, Body: s3Error("SlowDown")}), 13, again},
		"CutPart":        {"export", fatal(stores.Part, fault{CutRequest: 5 << 20}), 13, again},
		"Error200": {
			"encrypt", fatal(stores.Complete, fault{Status: 200, Body: s3Error("InternalError")}), 13, again,
		},
		"Dropped": {"push", fatal(stores.Part, fault{Status: 404, Body: s3Error("NoSuchUpload")}), 13, again},
		"Damaged": {"encrypt", fatal(stores.Part, fault{Corrupt: true}), 12, `hint: what came is not`},
		"DeniedInside": {"push", func(r *http.Request) *fault {
			if stores.Part.Of(r) && r.URL.Query().Get("partNumber") != "1" {
				return &fault{Status: 403, Body: s3Error("AccessDenied")}
			}
			return nil
		}, 10, denied},
		"Denied":  {"push", fatal(stores.Part, fault{Status: 403, Body: s3Error("AccessDenied")}), 10, denied},
		"Expired": {"export", fatal(stores.Part, fault{Status: 400, Body: s3Error("ExpiredToken")}), 10, denied},
		"Clock": {
			"encrypt", fatal(stores.Begin, fault{Status: 403, Body: s3Error("RequestTimeTooSkewed")}), 10, denied,
		},
		"Region": {
			"export", fatal(stores.Begin, fault{Status: 301, Region: "eu-north-1"}), 10,
			`the bucket is in the region eu-north-1`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			withBuckets(t, func(t *testing.T, u *bucketUser) {
				through, direct := u.proxy(t, test.choose)
				timeout := "--timeout=" + timeoutFor(test.code)
				_, said := u.want(t, test.code, append(u.writers()[test.verb], through, timeout)...)
				want := `(?s)culvert: error: ` + regexp.QuoteMeta(through) + `: .*` + test.says
				if !regexp.MustCompile(want).MatchString(said) {
					t.Errorf("it says %q, want a match of %s", said, want)
				}
				if name == "SilentAfterPart" { // nobody could abort the upload
					u.want(t, 1, "ls", direct)
					return
				}
				u.wantNothing(t, direct)
			})
		})
	}
}

// TestBucketUnnamable pulls and lists a directory with objects that no path can name: the others are copied, and the
// commands say what they leave out.
func TestBucketUnnamable(t *testing.T) {
	withBuckets(t, func(t *testing.T, u *bucketUser) {
		add := func(r *http.Response) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			added := "<CommonPrefixes><Prefix>" + r.Request.URL.Query().Get("prefix") + "/</Prefix></CommonPrefixes>"
			body = bytes.Replace(body, []byte("</ListBucketResult>"), []byte(added+"</ListBucketResult>"), 1)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Header.Set("Content-Length", fmt.Sprint(len(body)))
		}
		through, direct := u.proxy(t, stores.Always(stores.List.Of, fault{Answer: add}))
		u.want(t, 0, "push", "big", strings.Replace(direct, "/object?", "/object/one?", 1))
		says := regexp.MustCompile(`1 entry has a name that no path can hold: ".*object//"`)
		_, said := u.want(t, 3, "pull", "-o", "got", through)
		if !says.MatchString(said) || !strings.Contains(said, "1 file, 1 failed") {
			t.Errorf("a pull says %q", said)
		}
		if got, err := os.ReadFile(filepath.Join(u.dir, "got", "one")); err != nil || !bytes.Equal(got, u.big) {
			t.Errorf("the copy has %d bytes, %v", len(got), err)
		}
		out, said := u.want(t, 3, "ls", through)
		if out != "one\n" || !says.MatchString(said) {
			t.Errorf("ls prints %q and says %q", out, said)
		}
		if out, _ = u.want(t, 3, "ls", "--json", through); !strings.Contains(out, `"unnamable":1`) {
			t.Errorf("ls --json prints %q", out)
		}
	})
}

// TestBucketReadFails has faults that end a command which reads: what it has read is right, and nothing has the name of
// a file that is complete.
func TestBucketReadFails(t *testing.T) {
	testkit.Long(t)
	short := func(r *http.Response) {
		r.Body = io.NopCloser(io.LimitReader(r.Body, 1000))
		r.ContentLength = 1000
		r.Header.Set("Content-Length", "1000")
	}
	withBuckets(t, func(t *testing.T, u *bucketUser) {
		for name, test := range map[string]struct {
			fault
			code int
		}{
			"Silent":  {fault{Hang: true}, 13},
			"Stalled": {fault{CutResponse: 1000, Stall: true}, 13},
			"Header":  {fault{CutResponse: -1, Stall: true}, 13},
			"Cut":     {fault{CutResponse: -1}, 13},
			"Busy":    {fault{Status: 503, Body: s3Error("SlowDown")}, 13},
			"Denied":  {fault{Status: 403, Body: s3Error("AccessDenied")}, 10},
			"Short":   {fault{Answer: short}, 13},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				_, direct := u.proxy(t, nil)
				u.want(t, 0, "push", "big", direct)
				var ranges atomic.Int64
				p := stores.NewProxy(t, u.server, func(r *http.Request) *fault {
					if !stores.Range.Of(r) {
						return nil
					}
					if ranges.Add(1) < 3 {
						return nil
					}
					return &test.fault
				})
				through := strings.Replace(direct, u.server.Address, p.Address, 1)
				out, said := u.want(t, test.code, "cat", through, "--timeout", timeoutFor(test.code))
				if !strings.HasPrefix(string(u.big), out) || len(out) == len(u.big) {
					t.Errorf("%d bytes were printed", len(out))
				}
				if !strings.Contains(said, through) || !strings.Contains(said, "\nculvert: hint: ") {
					t.Errorf("it says %q", said)
				}
				ranges.Store(0)
				u.want(t, test.code, "pull", "-o", "pulled"+name, through, "--timeout", timeoutFor(test.code))
				if _, err := os.Lstat(filepath.Join(u.dir, "pulled"+name)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("a file is there: %v", err)
				}
			})
		}
	})
}

// TestBucketSilent has a store that does not answer for any of many small files: they do not wait one after the other.
func TestBucketSilent(t *testing.T) {
	withBuckets(t, func(t *testing.T, u *bucketUser) {
		if err := os.Mkdir(filepath.Join(u.dir, "tree"), 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			name := filepath.Join(u.dir, "tree", fmt.Sprint(i))
			if err := os.WriteFile(name, []byte("small"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		through, direct := u.proxy(t, stores.Always(stores.Put.Of, fault{Hang: true}))
		u.want(t, 13, "push", "tree", through, "--timeout", "2s")
		u.wantNothing(t, direct)
	})
}

// TestBucketStopped stops and kills writers at several points.
func TestBucketStopped(t *testing.T) {
	testkit.Long(t)
	withBuckets(t, func(t *testing.T, u *bucketUser) {
		for _, kind := range []stores.Kind{stores.Begin, stores.Uploads, stores.Part, stores.Complete} {
			for name, verb := range map[string]string{"Interrupt": "encrypt", "Kill": "export"} {
				t.Run(name+string(kind), func(t *testing.T) {
					t.Parallel()
					u.stop(t, kind, name == "Kill", u.writers()[verb])
				})
			}
		}
	})
}

// stop stops a writer while the store takes its time for a request.
func (u *bucketUser) stop(t *testing.T, kind stores.Kind, kill bool, writer []string) {
	reached := make(chan struct{})
	once := sync.OnceFunc(func() { close(reached) })
	through, direct := u.proxy(t, func(r *http.Request) *fault {
		switch {
		case kind.Of(r):
			once()
			if kill || kind == stores.Complete { // which must not arrive after all
				return &fault{Hang: true}
			}
			return &fault{Late: 1500 * time.Millisecond}
		case stores.Abort.Of(r):
			return &fault{Late: time.Second}
		}
		return nil
	})
	cmd, said := u.command(t, append(writer, through)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-reached
	signal, code := os.Interrupt, 130
	if kill {
		signal, code = os.Kill, -1
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code says more
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d: %s", got, code, said)
	}
	if !kill {
		u.wantNothing(t, direct)
		return
	}
	u.want(t, 1, "ls", direct)
	// The next run removes what is left, once it is old.
	aged := stores.NewProxy(t, u.server, func(r *http.Request) *fault {
		if !stores.Uploads.Of(r) && !stores.Parts.Of(r) {
			return nil
		}
		return &fault{Answer: makeOld}
	})
	u.want(t, 0, append(writer, strings.Replace(direct, u.server.Address, aged.Address, 1))...)
	path, _, _ := strings.Cut(direct, "?")
	testkit.WaitFor(t, "the end of the uploads", func() bool {
		return len(u.server.Unfinished(t, strings.TrimPrefix(path, "s3://"+stores.Bucket+"/"))) == 0
	})
}

var dates = regexp.MustCompile(`<(Initiated|LastModified)>[^<]*<`)

// makeOld changes a list of uploads, or of parts.
func makeOld(r *http.Response) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	body = dates.ReplaceAll(body, []byte("<${1}>2001-01-01T00:00:00Z<"))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", fmt.Sprint(len(body)))
}

// TestBucketRace exports to one prefix from two processes at once: one of them wins, and its export is whole.
func TestBucketRace(t *testing.T) {
	withBuckets(t, func(t *testing.T, u *bucketUser) {
		for range 4 {
			_, url := u.proxy(t, nil)
			var codes [2]int
			var said [2]*bytes.Buffer
			var running sync.WaitGroup
			for i := range codes {
				var cmd *exec.Cmd
				cmd, said[i] = u.command(t, "export", "shop.db", "--all", "--quiet", "-o", url)
				running.Go(func() {
					_ = cmd.Run() // the exit code says more
					codes[i] = cmd.ProcessState.ExitCode()
				})
			}
			running.Wait()
			if codes[0]+codes[1] != 1 || codes[0] < 0 || codes[1] < 0 {
				t.Fatalf("exit codes %d: %s", codes, said)
			}
			loser := 0
			if codes[1] == 1 {
				loser = 1
			}
			if !regexp.MustCompile(`exists|is not empty`).Match(said[loser].Bytes()) {
				t.Errorf("the other says: %s", said[loser])
			}
			u.want(t, 0, "verify", url)
		}
	})
}

// TestBucketRaceForced has two exports that replace each other's files at once. The manifest that comes last may be of
// other files than those that are there, which verify notices.
func TestBucketRaceForced(t *testing.T) {
	withBuckets(t, func(t *testing.T, u *bucketUser) {
		again := func(url string) []string {
			return []string{"export", "shop.db", "--all", "--quiet", "--force", "-o", url}
		}
		var once sync.Once
		known := make(chan string, 1)
		through, direct := u.proxy(t, func(r *http.Request) *fault {
			if stores.Put.Of(r) && strings.Contains(r.URL.Path, "/manifest.json") {
				once.Do(func() { u.want(t, 0, again(<-known)...) }) // all of another run
			}
			return nil
		})
		known <- direct
		u.want(t, 0, again(through)...)
		if _, said := u.want(t, 12, "verify", direct); !strings.Contains(said, "orders.csv") {
			t.Errorf("verify says: %s", said)
		}
		u.want(t, 0, again(direct)...)
		u.want(t, 0, "verify", direct)

		for range 4 {
			var running sync.WaitGroup
			for range 2 {
				running.Go(func() { u.want(t, 0, again(direct)...) })
			}
			running.Wait()
			cmd, said := u.command(t, "verify", direct)
			_ = cmd.Run() // the exit code says more
			code, want := cmd.ProcessState.ExitCode(), 0
			if !u.isListed(t, direct) {
				want = 12
			}
			if code != want {
				t.Errorf("verify: exit code %d, want %d: %s", code, want, said)
			}
		}
	})
}

// isListed reports whether the files of a prefix are those that its manifest lists, by their hashes.
func (u *bucketUser) isListed(t *testing.T, url string) bool {
	t.Helper()
	dir := filepath.Join(u.dir, "listed")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	u.want(t, 0, "pull", "--quiet", "-o", dir, url)
	text, _ := u.want(t, 0, "cat", filepath.Join(dir, "manifest.json.age"))
	m, err := manifest.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	hashes := map[string]string{}
	if m.Schema != nil {
		hashes[m.Schema.File] = m.Schema.SHA256
	}
	for _, table := range m.Tables {
		for _, part := range table.Parts {
			hashes[part.File] = part.SHA256
		}
	}
	for file, hash := range hashes {
		content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(content)) != hash {
			return false
		}
	}
	return true
}

// TestBucketMisuse has URLs that lead nowhere.
func TestBucketMisuse(t *testing.T) {
	withBuckets(t, func(t *testing.T, u *bucketUser) {
		_, url := u.proxy(t, nil)
		path, query, _ := strings.Cut(url, "?")
		for _, test := range []struct {
			args []string
			code int
			says string
		}{
			{[]string{"encrypt", "big", "-o", "s3://backups?" + query}, 4, "is a directory"},
			{[]string{"encrypt", "big", "-o", path + "/?" + query}, 4, "is a directory"},
			{[]string{"encrypt", "big", "-o", path + "/../x?" + query}, 4, "a dot or two"},
			{[]string{"encrypt", "big", "-o", path + "//x?" + query}, 4, "an element that is empty"},
			{[]string{"push", "big", "s3://no-such-bucket/x?" + query}, 1, "the bucket does not exist"},
			{[]string{"ls", "s3://no-such-bucket/x?" + query}, 1, "hint: check the name of the bucket"},
		} {
			if _, said := u.want(t, test.code, test.args...); !strings.Contains(said, test.says) {
				t.Errorf("culvert %q says %q, want %q", test.args, said, test.says)
			}
		}
	})
}
