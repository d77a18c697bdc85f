package main

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"culvert/wal"
)

// wallog makes a log of words and closes it. With -key it also makes the key and encrypts the log. With -large, two
// entries fill a segment:
//
//	wallog [-key FILE] [-large] DIR WORD...
func wallog(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: wallog [-key FILE] [-large] DIR WORD...")
	}
	options := wal.Options{SegmentSize: 1 << 20}
	if args[0] == "-key" {
		options.Key = []byte(strings.Repeat("k", 32))
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), options.Key, 0o600))
		args = args[2:]
	}
	repeated := 1
	if args[0] == "-large" {
		repeated = 400_000 / len(args[2])
		args = args[1:]
	}
	log, _, err := wal.Open(ts.MkAbs(args[0]), options)
	ts.Check(err)
	ctx := context.Background()
	for _, word := range args[1:] {
		_, err = log.Append(ctx, []byte(strings.Repeat(word, repeated)))
		ts.Check(err)
	}
	ts.Check(log.Close())
}

// tailed runs a command until it has printed so many lines, then interrupts it:
//
//	tailed LINES COMMAND [ARGUMENT]...
func tailed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: tailed LINES COMMAND [ARGUMENT]...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), environment(ts)
	output, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	lines := bufio.NewScanner(output)
	for range want {
		if !lines.Scan() {
			ts.Fatalf("it has ended")
		}
	}
	ts.Check(cmd.Process.Signal(os.Interrupt))
	for lines.Scan() {
		ts.Fatalf("one line too many: %s", lines.Text())
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		ts.Fatalf("it has ended with %v", err)
	}
}
