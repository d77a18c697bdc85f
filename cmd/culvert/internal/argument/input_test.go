package argument

import (
	"context"
	"errors"
	"strings"
	"testing"

	"culvert/cmd/culvert/internal/command"
)

func TestReadingEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	in := &Input{ctx: ctx, src: strings.NewReader("hello")}
	in.Reader = &inputReader{in}
	buf := make([]byte, 2)
	if n, err := in.Read(buf); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	cancel(command.ErrInterrupted)
	if _, err := in.Read(buf); !errors.Is(err, command.ErrInterrupted) {
		t.Errorf("error is %v", err)
	}
}
