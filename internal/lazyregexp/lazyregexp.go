// Package lazyregexp compiles regular expressions when they are first used. A program that compiles those of all its
// packages when it starts spends more time on them than on what it was started for.
//
//	var hex = lazyregexp.New(`^[0-9a-f]+$`)
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// Regexp is a regular expression that is compiled once, at its first use. Its methods are those of [regexp.Regexp], and
// may be called concurrently.
type Regexp struct {
	pattern  string
	once     sync.Once
	compiled *regexp.Regexp
}

// New returns a regular expression, which must be valid, or its first use panics. In tests it is compiled at once, so
// each test of a package that has one finds a mistake.
func New(pattern string) *Regexp {
	r := &Regexp{pattern: pattern}
	if strings.HasSuffix(strings.TrimSuffix(os.Args[0], ".exe"), ".test") {
		r.get()
	}
	return r
}

func (r *Regexp) get() *regexp.Regexp {
	r.once.Do(func() { r.compiled = regexp.MustCompile(r.pattern) })
	return r.compiled
}

// Match reports whether a text has a match.
func (r *Regexp) Match(text []byte) bool { return r.get().Match(text) }

// MatchString reports whether a text has a match.
func (r *Regexp) MatchString(text string) bool { return r.get().MatchString(text) }

// FindStringSubmatch returns the first match and its groups, or nil.
func (r *Regexp) FindStringSubmatch(text string) []string { return r.get().FindStringSubmatch(text) }

// FindAllStringSubmatch returns the first n matches and their groups, or all if n is negative.
func (r *Regexp) FindAllStringSubmatch(text string, n int) [][]string {
	return r.get().FindAllStringSubmatch(text, n)
}

// ReplaceAllString returns a text with a replacement for all matches, in which $1 is a group.
func (r *Regexp) ReplaceAllString(text, replacement string) string {
	return r.get().ReplaceAllString(text, replacement)
}

// ReplaceAllStringFunc returns a copy of the text with what replace returns in place of each match.
func (r *Regexp) ReplaceAllStringFunc(text string, replace func(string) string) string {
	return r.get().ReplaceAllStringFunc(text, replace)
}
