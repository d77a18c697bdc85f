package server_test

import (
	"testing"

	"culvert/fileservice/internal/filetest"
)

func TestMain(m *testing.M) { filetest.Main(m) }
