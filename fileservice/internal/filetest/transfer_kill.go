package filetest

import (
	"os"

	"culvert/internal/testkit"
)

// Thorough reports whether tests run at full length, as in ./dev test, except with the race detector.
func Thorough() bool { return os.Getenv("CULVERT_TEST_ALL") == "1" && !testkit.RaceDetector() }
