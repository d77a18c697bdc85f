package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"culvert/internal/testkit"
	"culvert/internal/testkit/natsserver"
)

// queueCommands are the commands of scripts that start NATS servers. The URL of the last one is in QUEUE.
func queueCommands(t *testing.T) map[string]command {
	var servers sync.Map // of NATS, by the URLs that scripts have for them
	use := func(ts *testscript.TestScript, url string, all ...*natsserver.Server) {
		ts.Setenv("QUEUE", url)
		servers.Store(url, all)
	}
	withTLS := func(s *natsserver.Server) string { return strings.Replace(s.URL(), "nats:", "tls:", 1) }
	kill := func(ts *testscript.TestScript, i int) {
		all, _ := servers.Load(ts.Getenv("QUEUE"))
		all.([]*natsserver.Server)[i].Kill(t)
	}
	return map[string]command{
		"queue": func(ts *testscript.TestScript, _ bool, args []string) {
			server := natsserver.New(t, args...)
			use(ts, server.URL(), server)
		},
		// tlsqueue has TLS, and further lines of its configuration in a file, in which $WORK is the directory:
		//
		//	tlsqueue FILE
		"tlsqueue": func(ts *testscript.TestScript, _ bool, args []string) {
			server := natsserver.New(t, strings.ReplaceAll(ts.ReadFile(args[0]), "$WORK", ts.MkAbs(".")))
			use(ts, withTLS(server), server)
		},
		// docsqueue has the configuration of docs/many-machines.md, for a user with an nkey:
		//
		//	docsqueue NKEY
		"docsqueue": func(ts *testscript.TestScript, _ bool, args []string) {
			page, err := os.ReadFile("../../docs/many-machines.md")
			ts.Check(err)
			_, config, _ := strings.Cut(string(page), "# nats.conf\n")
			config, _, _ = strings.Cut(config, "```")
			address := testkit.Address(t)
			for _, one := range [][2]string{
				{"0.0.0.0:4222", strconv.Quote(address)},
				{"/var/lib/nats", strconv.Quote(t.TempDir())},
				{"/etc/nats", ts.MkAbs(".")},
				{"UC…", args[0]},
			} {
				if !strings.Contains(config, one[0]) {
					ts.Fatalf("the configuration of the page has no %s: %s", one[0], config)
				}
				config = strings.ReplaceAll(config, one[0], one[1])
			}
			server := natsserver.NewWith(t, address, config)
			use(ts, withTLS(server), server)
		},
		// cluster starts three servers.
		"cluster": func(ts *testscript.TestScript, _ bool, _ []string) {
			all := natsserver.NewCluster(t, 3)
			use(ts, natsserver.URLs(all), all...)
		},
		// killqueue kills a server of QUEUE:
		//
		//	killqueue [NUMBER]
		"killqueue": func(ts *testscript.TestScript, _ bool, args []string) {
			i := 0
			if len(args) > 0 {
				var err error
				i, err = strconv.Atoi(args[0])
				ts.Check(err)
			}
			kill(ts, i)
		},
		// figures gets what Prometheus would, from the URL that a command has written to a log:
		//
		//	figures LOG FILE
		"figures": func(ts *testscript.TestScript, _ bool, args []string) {
			url := regexp.MustCompile(`figures for Prometheus: (http\S+)`).FindStringSubmatch(ts.ReadFile(args[0]))
			if url == nil {
				ts.Fatalf("%s has no URL", args[0])
			}
			response, err := http.Get(url[1])
			ts.Check(err)
			text, err := io.ReadAll(response.Body)
			ts.Check(err)
			ts.Check(response.Body.Close())
			ts.Check(os.WriteFile(filepath.Join(ts.MkAbs("."), args[1]), text, 0o600))
		},
	}
}
