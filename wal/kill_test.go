package wal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"culvert/internal/testkit"
)

// TestKill kills a process that appends, with SIGKILL at any time, and sees that everything is there that it had
// acknowledged over a pipe.
func TestKill(t *testing.T) {
	if dir := os.Getenv("CULVERT_WAL_CHILD"); dir != "" {
		if err := appendUntilKilled(dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	kills := 10
	switch {
	case testkit.RaceDetector(): // all lives are the same to it
		kills = 3
	case testkit.Soak():
		kills = 200
	}
	random := rand.New(rand.NewPCG(3, 3))
	dir := t.TempDir() + "/log"
	acknowledged := map[LSN]string{}
	for range kills {
		child := exec.Command(os.Args[0], "-test.run=^TestKill$")
		child.Env = append(os.Environ(), "CULVERT_WAL_CHILD="+dir)
		child.Stderr = os.Stderr
		output, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		left := 1 + random.IntN(60)
		lines := bufio.NewScanner(output)
		for lines.Scan() { // and what it says after the kill
			var lsn LSN
			var text string
			if n, _ := fmt.Sscanf(lines.Text(), "%d %s", &lsn, &text); n == 2 && strings.HasSuffix(text, "!") {
				acknowledged[lsn] = text
			}
			if left--; left == 0 {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = child.Process.Kill() // a child that has said less
		if err := child.Wait(); err == nil {
			t.Fatal("the child has ended by itself")
		}
		seeAcknowledged(t, dir, acknowledged)
	}
	if len(acknowledged) < kills {
		t.Errorf("only %d entries in %d lives", len(acknowledged), kills)
	}
}

// seeAcknowledged reads the log that a process has left.
func seeAcknowledged(t *testing.T, dir string, acknowledged map[LSN]string) {
	t.Helper()
	r, recovery, err := OpenReader(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for record, err := range r.Records(context.Background(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if text := acknowledged[record.LSN]; text != "" {
			found++
			if text != string(record.Data) {
				t.Fatalf("LSN %d is %q, and not %q", record.LSN, record.Data, text)
			}
		}
	}
	if found != len(acknowledged) {
		t.Fatalf("%d entries were acknowledged, %d are there: %+v", len(acknowledged), found, recovery)
	}
}

// appendUntilKilled is the child.
func appendUntilKilled(dir string) error {
	l, _, err := Open(dir, Options{SegmentSize: 16 << 10})
	if err != nil {
		return err
	}
	var writers sync.WaitGroup
	var failure error
	var mu sync.Mutex
	for writer := range 3 {
		writers.Go(func() {
			for i := 0; ; i++ {
				text := fmt.Sprintf("%d-%d-%d-%s!", os.Getpid(), writer, i, strings.Repeat("x", i%300))
				lsn, err := l.Append(context.Background(), []byte(text))
				mu.Lock()
				if _, writing := fmt.Fprintf(os.Stdout, "%d %s\n", lsn, text); err != nil || writing != nil {
					failure = errors.Join(failure, err, writing)
				}
				stop := failure != nil
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	writers.Wait()
	return failure
}
