package filetest

import (
	"os"

	"culvert/internal/testkit"
)

// Thorough says whether the tests run as often as they are meant to, as ./dev test has them, but for the race detector.
func Thorough() bool { return os.Getenv("CULVERT_TEST_ALL") == "1" && !testkit.RaceDetector() }
