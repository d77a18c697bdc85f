// Package jobs has the verbs of exports by several workers beside export: worker, jobs, and snapshot hold. It also has
// what export shares with them: the queue, the settings of a job, and names.
//
// A job is named after its output. So the command that began it finds it again, and two exports to one place meet.
package jobs

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"culvert/cmd/culvert/internal/argument"
	"culvert/cmd/culvert/internal/command"
	"culvert/internal/lazyregexp"
)

// notIDs are the characters that names of jobs and workers cannot have.
var notIDs = lazyregexp.New(`[^a-z0-9]+`)

// identifier makes a text part of a name: at most size lower-case letters, digits and hyphens.
func identifier(text string, size int) string {
	text = strings.Trim(notIDs.ReplaceAllString(strings.ToLower(text), "-"), "-")
	return strings.Trim(text[:min(len(text), size)], "-")
}

// short is what makes a name unique.
func short(hash []byte) string {
	const size = 8
	return strings.ToLower(base32.StdEncoding.EncodeToString(hash)[:size])
}

// nameOf returns the name of the job that writes to a place.
func nameOf(output, host string) string {
	hash := sha256.Sum256([]byte(host + "\x00" + output))
	name := output
	if scheme, rest, is := strings.Cut(output, "://"); is {
		rest, _, _ = strings.Cut(rest, "?")
		name = scheme + "/" + rest
	}
	const longest = 40
	base := identifier(path.Base(filepath.ToSlash(name)), longest)
	if base == "" {
		return short(hash[:])
	}
	return base + "-" + short(hash[:])
}

// WorkerName returns a name that no other worker has.
func WorkerName() string {
	unique := make([]byte, sha256.Size)
	_, _ = rand.Read(unique) // it never fails
	host, err := os.Hostname()
	if err != nil {
		host = "worker" // the rest tells it from others
	}
	const longest = 40
	return strings.TrimPrefix(identifier(host, longest)+"-"+short(unique), "-")
}

// outputOf names a place so that other processes find it: a URL; or a directory of a host.
func outputOf(l *argument.Location) (output, host string, err error) {
	if l.URL != nil {
		return l.Text, "", nil
	}
	output, err = filepath.Abs(l.Text)
	if err == nil {
		if real, linkErr := filepath.EvalSymlinks(filepath.Dir(output)); linkErr == nil {
			output = filepath.Join(real, filepath.Base(output))
		}
		host, err = os.Hostname()
	}
	return output, host, err
}

// Reporter reports what goes wrong and is tried again. It does not repeat itself.
type Reporter struct {
	App     *command.App
	Silent  bool
	Instead func(text string) // is called in place of showing the text, unless it is nil

	mu   sync.Mutex
	last map[string]time.Time // when a text was reported
}

// Metrics reports where the figures for Prometheus are, unless the URL is "". The system may have chosen the port.
func (r *Reporter) Metrics(url string) {
	if url != "" {
		r.Report("figures for Prometheus: " + url)
	}
}

// again is the time after which something is reported again.
const again = time.Minute

// Report shows a text, unless it was shown within the last minute. It may be called concurrently.
func (r *Reporter) Report(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.Silent || now.Sub(r.last[text]) < again {
		return
	}
	const most = 1000
	if r.last == nil || len(r.last) > most {
		r.last = map[string]time.Time{}
	}
	r.last[text] = now
	if r.Instead != nil {
		r.Instead(text)
		return
	}
	r.App.Console.Print("culvert: " + command.PackageNames.ReplaceAllString(text, "$1"))
}
