// Command testrun runs the tests of the module, and says at the end what has failed. `./dev test`, `./dev flaky` and
// `./dev soak` call it:
//
//	testrun test  [PACKAGE...]             each test, and again those of concurrent code under the race detector
//	testrun flaky ROUNDS [PACKAGE...]      each test many times, beside a load, in random order
//	testrun soak  [all | today | NAME...]  the long forms of tests
//	testrun names [all | today | NAME...]  only prints which long forms these are
//
// It starts one server of each database and one object store for all packages. The output of each package is kept in a
// file, in the directory that the last lines name, with the logs of servers that failed tests have used.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"culvert/internal/testkit"
	"culvert/internal/testkit/stores"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == recordVerb {
		os.Exit(record(os.Args[2], os.Args[3:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: testrun test [PACKAGE...] | flaky ROUNDS [PACKAGE...] | soak [all | today | NAME...]")

func run(ctx context.Context, args []string) (err error) {
	if len(args) == 0 {
		return errUsage
	}
	if args[0] == "names" {
		chosen, err := chosenSlices(args[1:])
		if err == nil {
			_, _ = fmt.Fprintln(os.Stdout, strings.Join(namesOf(chosen), " "))
		}
		return err
	}
	r, err := newReport()
	if err != nil {
		return err
	}
	variables, stop, err := startServers()
	defer func() { err = errors.Join(err, stop()) }()
	if err != nil {
		return err
	}
	r.environment = append(r.environment, variables...)
	switch verb, args := args[0], args[1:]; verb {
	case "test":
		err = test(ctx, r, args)
	case "flaky":
		rounds := 0
		if len(args) > 0 {
			rounds, err = strconv.Atoi(args[0])
		}
		if rounds < 1 || err != nil {
			return errUsage
		}
		err = flaky(ctx, r, rounds, args[1:])
	case "soak":
		err = soak(ctx, r, args)
	default:
		return errUsage
	}
	if err != nil {
		return err
	}
	return r.end()
}

// startServers starts what all test binaries share. Stop is never nil.
func startServers() (variables []string, stop func() error, err error) {
	databases, stopDatabases, err := testkit.StartShared()
	if err != nil {
		return nil, stopDatabases, err
	}
	store, stopStore, err := stores.StartShared()
	stop = func() error { return errors.Join(stopDatabases(), stopStore()) }
	return append(databases, store...), stop, err
}

// newReport returns an empty report, whose directory takes the place of that of the last run.
func newReport() (*report, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	directory := filepath.Join(cache, "culvert", "tests")
	if err := os.RemoveAll(directory); err != nil {
		return nil, err
	}
	// The variables that clients of a store read are set with the first server.
	environment := append(os.Environ(), "CULVERT_TEST_LOGS="+filepath.Join(directory, "servers"))
	r := &report{directory: directory, environment: environment}
	r.packages, r.built = map[string]*result{}, map[string][]string{}
	return r, os.MkdirAll(filepath.Join(directory, "servers"), 0o777)
}
