//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

const havePTY = false

func onTerminal(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("there are no pseudo terminals here: ask for the condition [pty]")
}

func closeTerminal(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("there are no pseudo terminals here: ask for the condition [pty]")
}

func canMount(string) bool { return false }

func smallDisk(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("there are no small file systems here: ask for the condition [smalldisk]")
}
