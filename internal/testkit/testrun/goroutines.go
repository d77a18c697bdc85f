package main

import (
	"fmt"
	"slices"
	"strings"
)

// hangOf returns what matters of what a test binary says that took too long: the tests that ran, and where the
// goroutines with code of this module wait, those that have the same stack together.
func hangOf(lines []string) []string {
	end := slices.IndexFunc(lines, isGoroutine)
	if end < 0 {
		return lines
	}
	var words []string // in one line, since a summary has only the first
	for _, line := range lines[:end] {
		words = append(words, strings.TrimSpace(line))
	}
	found := []string{strings.Join(words, " ")}
	counts := map[string]int{}
	var stacks []string
	for _, stack := range stacksOf(lines[end:]) {
		if summary := summaryOf(stack); summary != "" {
			if counts[summary]++; counts[summary] == 1 {
				stacks = append(stacks, summary)
			}
		}
	}
	for _, summary := range stacks {
		times := ""
		if n := counts[summary]; n > 1 {
			times = fmt.Sprintf(" (%d of them)", n)
		}
		found = append(found, summary+times)
	}
	return found
}

func isGoroutine(line string) bool { return strings.HasPrefix(line, "goroutine ") }

// stacksOf cuts the lines of all goroutines into those of each.
func stacksOf(lines []string) (stacks [][]string) {
	for i, line := range lines {
		if isGoroutine(line) {
			stacks = append(stacks, nil)
		}
		if len(stacks) > 0 {
			last := len(stacks) - 1
			stacks[last] = append(stacks[last], lines[i])
		}
	}
	return stacks
}

// summaryOf returns the state of a goroutine, and its functions of this module with their lines, or "" if it has none.
func summaryOf(stack []string) string {
	_, state, _ := strings.Cut(stack[0], "[")
	state, _, _ = strings.Cut(state, "]")
	var frames []string
	for i := 1; i+1 < len(stack); i++ {
		name := strings.TrimPrefix(stack[i], "created by ")
		if !strings.HasPrefix(name, "culvert/") || strings.HasPrefix(stack[i], "created by ") && len(frames) == 0 {
			continue
		}
		if cut := strings.LastIndexByte(name, '('); cut > 0 {
			name = name[:cut]
		}
		place, _, _ := strings.Cut(strings.TrimSpace(stack[i+1]), " ")
		frames = append(frames, name+" "+place[strings.LastIndexByte(place, '/')+1:])
	}
	if len(frames) == 0 {
		return ""
	}
	return state + ": " + strings.Join(frames[:min(len(frames), 4)], " < ")
}
