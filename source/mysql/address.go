package mysql

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

// settings say where to connect, as whom, and how.
type settings struct {
	host, port, socket string
	protocol           string // "TCP", "SOCKET" or ""
	user, password     string
	database           string
	timeout            time.Duration // 0 if there is none
	optionFile         string        // that was read; "" if there is none
	tls                tlsOptions
}

// options are what an option file and the query of a URL may set, by their names.
var options = map[string]func(s *settings, value string) error{
	"host":            func(s *settings, value string) error { s.host = value; return nil },
	"port":            (*settings).setPort,
	"socket":          func(s *settings, value string) error { s.socket = value; return nil },
	"protocol":        (*settings).setProtocol,
	"user":            func(s *settings, value string) error { s.user = value; return nil },
	"password":        func(s *settings, value string) error { s.password = value; return nil },
	"connect-timeout": (*settings).setTimeout,
	"ssl-mode":        (*settings).setSSLMode,
	"ssl-ca":          func(s *settings, value string) error { s.tls.ca = value; return nil },
	"ssl-cert":        func(s *settings, value string) error { s.tls.cert = value; return nil },
	"ssl-key":         func(s *settings, value string) error { s.tls.key = value; return nil },
	"tls-version":     (*settings).setTLSVersion,
}

// toggles are the options that are on or off.
var toggles = map[string]func(s *settings) *toggle{
	"ssl":                    func(s *settings) *toggle { return &s.tls.ssl },
	"ssl-verify-server-cert": func(s *settings) *toggle { return &s.tls.verify },
}

// inURL are the options that a URL may have. What stands for others in an option file has its own place in a URL.
var inURL = []string{
	"connect-timeout", "defaults-file", "protocol", "socket", "ssl-ca", "ssl-cert", "ssl-key", "ssl-mode",
}

// set sets an option of an option file. The file is for other programs too, so that names which are not known are
// passed over, but not those of TLS: what they ask for must not be left out in silence, unless they say by "loose-"
// that it may.
func (s *settings) set(name, value string) error {
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
			wanted = on + off - wanted // not not
		default:
			return errValue
		}
		*find(s) = wanted
		return nil
	}
	if !loose && (strings.HasPrefix(name, "ssl") || strings.HasPrefix(name, "tls")) {
		return errors.New("it asks for something of TLS that is not supported")
	}
	return nil
}

var errValue = errors.New("the value is not one that it can have")

func (s *settings) setPort(value string) error {
	port, err := strconv.ParseUint(value, 10, 16)
	if err != nil {
		return errValue
	}
	s.port = ""
	if port > 0 { // which is the default
		s.port = strconv.FormatUint(port, 10)
	}
	return nil
}

func (s *settings) setProtocol(value string) error {
	s.protocol = strings.ToUpper(value)
	if s.protocol != "TCP" && s.protocol != "SOCKET" {
		return errValue
	}
	return nil
}

func (s *settings) setTimeout(value string) error {
	seconds, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return errValue
	}
	s.timeout = time.Duration(seconds) * time.Second
	return nil
}

func (s *settings) setSSLMode(value string) error {
	value = strings.ToUpper(value)
	if !slices.Contains(sslModes, value) {
		return errValue
	}
	s.tls.mode = value
	return nil
}

// resolve puts together what the environment, an option file and the URL say. Later ones take the place of earlier
// ones.
func resolve(address string) (*settings, error) {
	u, query, err := parseURL(address)
	if err != nil {
		return nil, err
	}
	s := &settings{}
	if err := s.readEnvironment(); err != nil {
		return nil, err
	}
	if err := s.readOptionFile(query.Get("defaults-file")); err != nil {
		return nil, err
	}
	if err := s.applyURL(u, query); err != nil {
		return nil, err
	}
	if s.user == "" {
		if me, err := user.Current(); err == nil {
			s.user = me.Username
		}
	}
	return s, nil
}

// parseURL parses an address. Where it is wrong, any part of it may belong to a password, so that no error repeats
// its text.
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
		return nil, nil, errors.New("mysql: the address has a character too many; " + escapes)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, nil, errors.New("mysql: the options of the address cannot be read; " + escapes)
	}
	for name, values := range query {
		if !slices.Contains(inURL, name) || len(values) != 1 {
			return nil, nil, fmt.Errorf("mysql: an option of the address is unknown, or there twice; there are %s; %s",
				strings.Join(inURL, ", "), escapes)
		}
	}
	return u, query, nil
}

const escapes = "a password must have @ written as %40, / as %2F, : as %3A, ? as %3F and # as %23"

func (s *settings) readEnvironment() error {
	s.host, s.socket, s.password = os.Getenv("MYSQL_HOST"), os.Getenv("MYSQL_UNIX_PORT"), os.Getenv("MYSQL_PWD")
	if port := os.Getenv("MYSQL_TCP_PORT"); port != "" && s.setPort(port) != nil {
		return errors.New("mysql: MYSQL_TCP_PORT is not a port")
	}
	return nil
}

// readOptionFile reads the file that was asked for, or else ~/.my.cnf if there is one.
func (s *settings) readOptionFile(path string) error {
	asked := path != ""
	if !asked {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil // nobody's options
		}
		path = filepath.Join(home, ".my.cnf")
	}
	text, err := readOptions(path)
	switch {
	case !asked && (errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)):
		return nil // users without a home have /dev/null or the like
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

func (s *settings) applyURL(u *url.URL, query url.Values) error {
	if u.Host != "" {
		s.host, s.protocol = cmp.Or(u.Hostname(), s.host), ""
	}
	if u.Port() != "" {
		if s.setPort(u.Port()) != nil {
			return errors.New("mysql: the port of the address is wrong; " + escapes)
		}
		s.protocol = "TCP"
	}
	if query.Has("socket") {
		s.protocol = "SOCKET"
	}
	if u.User != nil {
		s.user = cmp.Or(u.User.Username(), s.user)
		if password, set := u.User.Password(); set {
			s.password = password
		}
	}
	s.database = strings.TrimPrefix(u.Path, "/")
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

// Files gives the files that Open reads for an address: the option file, and those that hold certificates and keys. It
// is for those who must not overwrite them. If Open would fail, some may be missing.
func Files(address string) []string {
	u, query, err := parseURL(address)
	if err != nil {
		return nil
	}
	s := &settings{}
	// What is wrong here, Open will say.
	_ = s.readOptionFile(query.Get("defaults-file"))
	_ = s.applyURL(u, query)
	files := []string{s.optionFile, s.tls.ca, s.tls.cert, s.tls.key}
	return slices.DeleteFunc(files, func(path string) bool { return path == "" })
}

// sockets are where the server listens unless it is told otherwise: as Debian, Red Hat and MySQL itself have it.
var sockets = []string{"/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"}

// place is what to dial.
func (s *settings) place() (network, address string) {
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
