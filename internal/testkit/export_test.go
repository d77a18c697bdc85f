package testkit

import "time"

// RaceEnabled says whether the tests run under the race detector.
const RaceEnabled = raceEnabled

// Alive reports whether a process runs.
var Alive = alive

// Directory is where everything of the server is.
func (s *PostgresServer) Directory() string { return s.directory }

// StartInVain starts a server that has a second to answer, with further options, and gives the error.
func (s *MariaDBServer) StartInVain(options ...string) error {
	defer func(limit time.Duration, before []string) {
		startLimit, s.config.Options = limit, before
	}(startLimit, s.config.Options)
	startLimit, s.config.Options = time.Second, options
	return s.start()
}
