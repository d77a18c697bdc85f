package fill_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"culvert/internal/testkit"
	"culvert/sink"
	"culvert/source"
)

// TestRestoreBehindSlowServer begins a load that another one keeps out, at a server that takes much longer to begin its
// transactions than locks may take.
func TestRestoreBehindSlowServer(t *testing.T) {
	db, database := openNew(t, "")
	s := &source.Schema{
		Dialect: source.PostgreSQL, Statements: []source.Statement{{SQL: "CREATE TABLE public.t ();"}},
	}
	restoration, err := db.Restore(t.Context(), "a load", s, sink.Filling{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := restoration.Close(); err != nil {
			t.Error(err)
		}
	}()

	const delay = 30 * time.Millisecond // of all answers after those to the login
	pass := func(client, server net.Conn) (ask, answer func()) {
		ask = func() {
			_, _ = io.Copy(server, client) // until one side ends
			_ = server.Close()             // the other side may have ended it
		}
		return ask, func() { answerLate(client, server, delay) }
	}
	relay := testkit.NewRelay(t, testkit.ListenTCP(t), testkit.Postgres(t).SocketPath, pass)
	again := openAgain(t, fmt.Sprintf("postgres://postgres@%s/%s?sslmode=disable", relay.Address(), database.Name))
	_, err = again.Restore(t.Context(), "a load", s, sink.Filling{LockTimeout: time.Millisecond})
	if !errors.Is(err, sink.ErrBusy) {
		t.Errorf("a second load beside the first: %v", err)
	}
}

// answerLate passes on what the server says, all but the first of it late, until one side ends.
func answerLate(client io.Writer, server io.Reader, delay time.Duration) {
	buffer := make([]byte, 1<<16)
	for isLogin := true; ; isLogin = false {
		n, err := server.Read(buffer)
		if !isLogin {
			<-time.After(delay)
		}
		if _, writeErr := client.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
	}
}
