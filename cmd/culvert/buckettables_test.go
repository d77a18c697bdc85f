package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"culvert/internal/testkit"
	"culvert/internal/testkit/stores"
)

// isPutOf returns whether a request writes an object whose name begins so.
func isPutOf(name string) func(*http.Request) bool {
	return func(r *http.Request) bool { return stores.Put.Of(r) && strings.Contains(r.URL.Path, "/object/"+name) }
}

// wantUnfinished wants an export of several tables that has no manifest: verify says so, the same command is refused,
// and succeeds with --force.
func (u *bucketUser) wantUnfinished(t *testing.T, url string, export ...string) {
	t.Helper()
	if names, _ := u.want(t, 0, "ls", url); strings.Contains(names, "manifest") || !strings.Contains(names, "t2.csv") {
		t.Errorf("there are %q", names)
	}
	if _, said := u.want(t, 12, "verify", url); !strings.Contains(said, "there is no manifest") {
		t.Errorf("verify says %q", said)
	}
	if _, said := u.want(t, 1, append(export, url)...); !strings.Contains(said, "is not empty") {
		t.Errorf("the same command says %q", said)
	}
	u.want(t, 0, append(export, url, "--force")...)
	u.want(t, 0, "verify", url)
}

// TestBucketTablesStopped kills exports of several tables, or lets the store fail, before one of the tables and before
// the manifest.
func TestBucketTablesStopped(t *testing.T) {
	testkit.Long(t)
	withBuckets(t, func(t *testing.T, u *bucketUser) {
		export := []string{"export", "shop.db", "--all", "--quiet", "-o"}
		for _, name := range []string{"t3.csv", "manifest"} {
			t.Run("Kill-"+name, func(t *testing.T) {
				t.Parallel()
				reached := make(chan struct{})
				once := sync.OnceFunc(func() { close(reached) })
				through, direct := u.proxy(t, stores.Always(isPutOf(name), fault{Hang: true, Before: once}))
				cmd, _ := u.command(t, append(export, through)...)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				<-reached
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait() // it was killed
				u.wantUnfinished(t, direct, export...)
			})
			t.Run("Busy-"+name, func(t *testing.T) {
				t.Parallel()
				busy := fault{Status: http.StatusServiceUnavailable, Body: s3Error("SlowDown")}
				through, direct := u.proxy(t, stores.Always(isPutOf(name), busy))
				_, said := u.want(t, 13, append(export, through, "--timeout", "2s")...)
				if !strings.Contains(said, "hint: run the command again with --force") {
					t.Errorf("it says %q", said)
				}
				u.wantUnfinished(t, direct, export...)
			})
		}
	})
}

// afterRanges returns a fault of all requests for data but the first two.
func afterRanges(f fault) func(*http.Request) *fault {
	var ranges atomic.Int64
	return func(r *http.Request) *fault {
		if !stores.Range.Of(r) || ranges.Add(1) < 3 {
			return nil
		}
		return &f
	}
}

// TestBucketReadersFail has faults in the middle of an encrypted object. No command that reads it takes it for whole,
// and the error names it.
func TestBucketReadersFail(t *testing.T) {
	testkit.Long(t)
	withBuckets(t, func(t *testing.T, u *bucketUser) {
		_, direct := u.proxy(t, nil)
		u.want(t, 0, "encrypt", "big", "-o", direct)
		for name, test := range map[string]struct {
			fault
			code int
		}{
			"Cut":    {fault{CutResponse: -1}, 13},
			"Silent": {fault{Hang: true}, 13},
			"Denied": {fault{Status: 403, Body: s3Error("AccessDenied")}, 10},
		} {
			for verb, args := range map[string][]string{
				"verify": {"verify"}, "decrypt": {"decrypt", "-o", "plain" + name}, "cat": {"cat"},
				"encrypt": {"encrypt", "-o", "again" + name},
			} {
				t.Run(name+"-"+verb, func(t *testing.T) {
					t.Parallel()
					p := stores.NewProxy(t, u.server, afterRanges(test.fault))
					through := strings.Replace(direct, u.server.Address, p.Address, 1)
					_, said := u.want(t, test.code, append(args, through, "--timeout", timeoutFor(test.code))...)
					if !strings.Contains(said, through) || !strings.Contains(said, "\nculvert: hint: ") {
						t.Errorf("it says %q", said)
					}
					if len(args) > 1 {
						if _, err := os.Lstat(filepath.Join(u.dir, args[2])); err == nil {
							t.Error("there is a file")
						}
					}
				})
			}
		}
	})
}

// TestBucketReplaced replaces an object while commands read it: they say so, and a pull begins again.
func TestBucketReplaced(t *testing.T) {
	withBuckets(t, func(t *testing.T, u *bucketUser) {
		if err := os.WriteFile(filepath.Join(u.dir, "other"), u.big[1:], 0o600); err != nil {
			t.Fatal(err)
		}
		for verb, args := range map[string][]string{"cat": {"cat"}, "pull": {"pull", "-o", "pulled"}} {
			t.Run(verb, func(t *testing.T) {
				t.Parallel()
				_, direct := u.proxy(t, nil)
				u.want(t, 0, "push", "big", direct)
				replace := sync.OnceFunc(func() { u.want(t, 0, "push", "--force", "other", direct) })
				p := stores.NewProxy(t, u.server, afterRanges(fault{Before: replace}))
				through := strings.Replace(direct, u.server.Address, p.Address, 1)
				if verb == "pull" {
					u.want(t, 0, append(args, through)...)
					got, err := os.ReadFile(filepath.Join(u.dir, "pulled"))
					if err != nil || string(got) != string(u.big[1:]) {
						t.Errorf("the copy has %d bytes, %v", len(got), err)
					}
					return
				}
				out, said := u.want(t, 1, append(args, through)...)
				if !strings.HasPrefix(string(u.big), out) || !strings.Contains(said, through) ||
					!strings.Contains(said, "hint: it was replaced while it was read") {
					t.Errorf("it prints %d bytes, and says %q", len(out), said)
				}
			})
		}
	})
}
