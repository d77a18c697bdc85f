//go:build !unix

package testkit

import (
	"errors"
	"os/exec"
)

func giveAway(string) error { return nil }

func dropPrivileges(*exec.Cmd) {}

func alive(int) bool { return false }

func killWithChildren(int, []int) ([]int, error) { return nil, errors.ErrUnsupported }
