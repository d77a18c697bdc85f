package testkit

// RaceEnabled says whether the tests run under the race detector.
const RaceEnabled = raceEnabled

// Alive reports whether a process runs.
var Alive = alive

// Directory is where everything of the server is.
func (s *PostgresServer) Directory() string { return s.directory }
