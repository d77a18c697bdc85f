package main

import "testing"

// TestDifference: a field that is lost breaks scripts, and one that is new does not.
func TestDifference(t *testing.T) {
	const before = `All commands:

  code      number   exit code

culvert pull, culvert push (also once):

  files     array    objects:
    name    string   file
  bytes     number   bytes

culvert version:

  version   string   version
`
	const now = `All commands:

  code      number   exit code

culvert pull, culvert push (also once):

  files     array    objects:
    name    number   file
    new     string   new
  bytes     number   bytes

culvert version:
`
	const want = `- JSON, pull: files.name: changed from string to number
- JSON, push: files.name: changed from string to number
- JSON, version: version: removed
- JSON, pull: files.new: added
- JSON, push: files.new: added
`
	if got, lost := difference(fields(before), fields(now)); got != want || !lost {
		t.Errorf("the difference is %v,\n%s", lost, got)
	}
	if got, lost := difference(fields(before), fields(before)); got != "" || lost {
		t.Errorf("the same page differs from itself: %s", got)
	}
}
