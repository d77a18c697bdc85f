package command

import (
	"strings"
	"testing"
)

func TestSecondUseOfStandardInput(t *testing.T) {
	a := &App{Stdin: strings.NewReader("x")}
	if _, err := a.ClaimStdin("the input"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.ClaimStdin("the passphrase"); ExitCode(err) != ExitUsage {
		t.Errorf("error is %v, want one of usage", err)
	}
}
