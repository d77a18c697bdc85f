package wire

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Settings are the server to connect to, the user, and how to connect.
type Settings struct {
	User, Password     string
	Database           string        // "" if none is opened
	Timeout            time.Duration // for connecting; 0 if there is none
	Several            bool          // a text may have several statements, but not a prepared one
	host, port, socket string
	protocol           string // "TCP", "SOCKET" or ""
	optionFile         string // the one that was read, or ""
	tls                tlsOptions
}

// options are the options of option files and URLs.
var options = map[string]func(s *Settings, value string) error{
	"host":            func(s *Settings, value string) error { s.host = value; return nil },
	"port":            (*Settings).setPort,
	"socket":          func(s *Settings, value string) error { s.socket = value; return nil },
	"protocol":        (*Settings).setProtocol,
	"user":            func(s *Settings, value string) error { s.User = value; return nil },
	"password":        func(s *Settings, value string) error { s.Password = value; return nil },
	"connect-timeout": (*Settings).setTimeout,
	"ssl-mode":        (*Settings).setSSLMode,
	"ssl-ca":          func(s *Settings, value string) error { s.tls.ca = value; return nil },
	"ssl-cert":        func(s *Settings, value string) error { s.tls.cert = value; return nil },
	"ssl-key":         func(s *Settings, value string) error { s.tls.key = value; return nil },
	"tls-version":     (*Settings).setTLSVersion,
}

// toggles are the options that are on or off.
var toggles = map[string]func(s *Settings) *toggle{
	"ssl":                    func(s *Settings) *toggle { return &s.tls.ssl },
	"ssl-verify-server-cert": func(s *Settings) *toggle { return &s.tls.verify },
}

// inURL are the options that a URL may have in its query. Others have their own place in a URL.
var inURL = []string{
	"connect-timeout", "defaults-file", "protocol", "socket", "ssl-ca", "ssl-cert", "ssl-key", "ssl-mode",
}

// set sets an option of an option file. The file is for other programs too, so unknown options are ignored. Unknown TLS
// options are errors, since they must not be ignored silently, unless they begin with "loose-".
func (s *Settings) set(name, value string) error {
	name, loose := strings.CutPrefix(name, "loose-")
	if set := options[name]; set != nil {
		return set(s, value)
	}
	wanted := on
	for prefix, means := range map[string]toggle{"skip-": off, "disable-": off, "enable-": on} {
		if rest, found := strings.CutPrefix(name, prefix); found && toggles[rest] != nil {
			name, wanted = rest, means
		}
	}
	if find := toggles[name]; find != nil {
		switch strings.ToUpper(value) {
		case "", "1", "ON", "TRUE":
		case "0", "OFF", "FALSE":
			wanted = on + off - wanted // the other one
		default:
			return errValue
		}
		*find(s) = wanted
		return nil
	}
	if !loose && (strings.HasPrefix(name, "ssl") || strings.HasPrefix(name, "tls")) {
		return errors.New("this TLS option is not supported")
	}
	return nil
}

var errValue = errors.New("invalid value")

func (s *Settings) setPort(value string) error {
	port, err := strconv.ParseUint(value, 10, 16)
	if err != nil {
		return errValue
	}
	s.port = ""
	if port > 0 { // 0 is the default port
		s.port = strconv.FormatUint(port, 10)
	}
	return nil
}

func (s *Settings) setProtocol(value string) error {
	s.protocol = strings.ToUpper(value)
	if s.protocol != "TCP" && s.protocol != "SOCKET" {
		return errValue
	}
	return nil
}

func (s *Settings) setTimeout(value string) error {
	seconds, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return errValue
	}
	s.Timeout = time.Duration(seconds) * time.Second
	return nil
}

func (s *Settings) setSSLMode(value string) error {
	value = strings.ToUpper(value)
	if !slices.Contains(sslModes, value) {
		return errValue
	}
	s.tls.mode = value
	return nil
}

// Resolve reads the environment, an option file and the URL. Each overrides the ones before it.
func Resolve(address string) (*Settings, error) {
	u, query, err := parseURL(address)
	if err != nil {
		return nil, err
	}
	s := &Settings{}
	if err := s.readEnvironment(); err != nil {
		return nil, err
	}
	if err := s.readOptionFile(query.Get("defaults-file")); err != nil {
		return nil, err
	}
	if err := s.applyURL(u, query); err != nil {
		return nil, err
	}
	if s.User == "" {
		if me, err := user.Current(); err == nil {
			s.User = me.Username
		}
	}
	return s, nil
}

// parseURL parses an address. No error repeats its text: if the address is malformed, any part may belong to a
// password.
func parseURL(address string) (*url.URL, url.Values, error) {
	if address == "" {
		return &url.URL{}, nil, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" || u.Scheme != "mysql" && u.Scheme != "mariadb" {
		return nil, nil, errors.New("mysql: the address is not a URL such as mysql://USER@HOST/DATABASE; " + escapes)
	}
	path := strings.TrimPrefix(u.EscapedPath(), "/")
	if strings.ContainsAny(path, "@/") || u.Fragment != "" || strings.Contains(u.Host, "@") {
		return nil, nil, errors.New("mysql: the address has an extra @, / or #; " + escapes)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, nil, errors.New("mysql: the options of the address cannot be read; " + escapes)
	}
	for name, values := range query {
		if !slices.Contains(inURL, name) || len(values) != 1 {
			return nil, nil, fmt.Errorf("mysql: an option of the address is unknown or repeated; options are %s; %s",
				strings.Join(inURL, ", "), escapes)
		}
	}
	return u, query, nil
}

const escapes = "in a password, write @ as %40, / as %2F, : as %3A, ? as %3F and # as %23"

func (s *Settings) readEnvironment() error {
	s.host, s.socket, s.Password = os.Getenv("MYSQL_HOST"), os.Getenv("MYSQL_UNIX_PORT"), os.Getenv("MYSQL_PWD")
	if port := os.Getenv("MYSQL_TCP_PORT"); port != "" && s.setPort(port) != nil {
		return errors.New("mysql: MYSQL_TCP_PORT is not a port")
	}
	return nil
}

// readOptionFile reads the file at path, or ~/.my.cnf, if it exists, for "".
func (s *Settings) readOptionFile(path string) error {
	asked := path != ""
	if !asked {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil // without a home, there is no option file
		}
		path = filepath.Join(home, ".my.cnf")
	}
	text, err := readOptions(path)
	switch {
	case !asked && (errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)):
		return nil // the home of system users may be a file such as /dev/null
	case err != nil:
		return err
	}
	s.optionFile = path
	for _, o := range parseOptions(text) {
		if err := s.set(o.name, o.value); err != nil {
			return fmt.Errorf("mysql: option %s in %s: %w", o.name, path, err)
		}
	}
	return nil
}

func (s *Settings) applyURL(u *url.URL, query url.Values) error {
	if u.Host != "" {
		s.host, s.protocol = cmp.Or(u.Hostname(), s.host), ""
	}
	if u.Port() != "" {
		if s.setPort(u.Port()) != nil {
			return errors.New("mysql: the port of the address is invalid; " + escapes)
		}
		s.protocol = "TCP"
	}
	if query.Has("socket") {
		s.protocol = "SOCKET"
	}
	if u.User != nil {
		s.User = cmp.Or(u.User.Username(), s.User)
		if password, set := u.User.Password(); set {
			s.Password = password
		}
	}
	s.Database = strings.TrimPrefix(u.Path, "/")
	if query.Has("ssl-mode") {
		s.tls.ssl, s.tls.verify = untouched, untouched
	}
	for name := range query {
		if set := options[name]; set != nil {
			if err := set(s, query.Get(name)); err != nil {
				return fmt.Errorf("mysql: option %s of the address: %w", name, err)
			}
		}
	}
	return nil
}

// Files returns the option file that is read for an address, and the files of certificates and keys. If Resolve would
// fail, some may be missing.
func Files(address string) []string {
	u, query, err := parseURL(address)
	if err != nil {
		return nil
	}
	s := &Settings{}
	// Resolve reports these errors.
	_ = s.readOptionFile(query.Get("defaults-file"))
	_ = s.applyURL(u, query)
	files := []string{s.optionFile, s.tls.ca, s.tls.cert, s.tls.key}
	return slices.DeleteFunc(files, func(path string) bool { return path == "" })
}

// sockets are the default sockets of Debian, Red Hat and MySQL itself.
var sockets = []string{"/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"}

// Server returns the network and the address to dial.
func (s *Settings) Server() (network, address string) {
	local := s.host == "" || s.host == "localhost"
	if s.protocol == "SOCKET" || s.protocol == "" && local {
		if s.socket != "" {
			return "unix", s.socket
		}
		for _, socket := range sockets {
			if _, err := os.Stat(socket); err == nil || s.protocol == "SOCKET" {
				return "unix", socket
			}
		}
	}
	return "tcp", net.JoinHostPort(cmp.Or(s.host, "127.0.0.1"), cmp.Or(s.port, "3306"))
}
