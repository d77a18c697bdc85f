package harness

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Queue is a running NATS server that keeps its messages on the disk.
type Queue struct {
	URL  string
	Tree *Tree
}

// Queue starts a NATS server of the version that Culvert embeds. It syncs each write, as the one within a process does,
// and ends with the session.
func (s *Session) Queue() (*Queue, error) {
	program, err := s.Build("..", "github.com/nats-io/nats-server/v2")
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(s.Dir, "nats.conf")
	text := fmt.Sprintf("listen: 127.0.0.1:%s\njetstream { store_dir: %q, sync_interval: always }\n", ports[0],
		filepath.Join(s.Dir, "nats"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "-c", config, "-l", filepath.Join(s.Dir, "nats.log"))
	q := &Queue{"nats://127.0.0.1:" + ports[0], NewTree("queue", cmd)}
	server, err := StartProcess(cmd)
	if err != nil {
		return nil, err
	}
	s.Cleanup(func() error {
		_ = server.Stop() // its exit code says nothing
		return nil
	})
	return q, s.awaitStore(func() error {
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+ports[0], time.Second)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}
