package bucket_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"culvert/internal/testkit/stores"
)

// google answers as Google Cloud Storage does where emulators do not: it takes a part of a part, ignores what it has
// already, verifies checksums, and forgets an upload that was ended.
type google struct {
	address string

	mu         sync.Mutex
	generation int
	objects    map[string]googleObject
	sessions   map[string]*googleSession
	half       bool        // takes only a part of each part
	careless   bool        // verifies no checksum
	header     http.Header // of the last request
}

type googleObject struct {
	Name        string            `json:"name"`
	ContentType string            `json:"contentType"`
	CRC32C      string            `json:"crc32c"`
	Metadata    map[string]string `json:"metadata"`
	Size        string            `json:"size"`
	Generation  string            `json:"generation"`
	Updated     time.Time         `json:"updated"`
	data        []byte
}

type googleSession struct {
	object googleObject
	create bool
}

func startGoogle(t *testing.T) *google {
	g := &google{objects: map[string]googleObject{}, sessions: map[string]*googleSession{}}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	g.address = strings.TrimPrefix(server.URL, "http://")
	return g
}

func (g *google) url(address string) string {
	return "gs://" + stores.Bucket + "/backups%20of%202026/?endpoint=http://" + address
}

// uploads returns how many uploads are not finished.
func (g *google) uploads() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.sessions)
}

func (g *google) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

func (g *google) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.header = r.Header
	const objects = "/storage/v1/b/" + stores.Bucket + "/o"
	path, query := r.URL.EscapedPath(), r.URL.Query()
	switch {
	case path == "/upload"+objects && r.Method == http.MethodPost:
		g.insert(w, r, data)
	case path == "/upload"+objects && g.sessions[query.Get("upload_id")] == nil:
		refuse(w, http.StatusNotFound, "no such upload")
	case path == "/upload"+objects && r.Method == http.MethodDelete:
		delete(g.sessions, query.Get("upload_id"))
		refuse(w, 499, "")
	case path == "/upload"+objects:
		g.receive(w, r, query.Get("upload_id"), data)
	case path == objects:
		g.list(w, query)
	case strings.HasPrefix(path, objects+"/"):
		name, _ := url.PathUnescape(strings.TrimPrefix(path, objects+"/"))
		object, exists := g.objects[name]
		switch {
		case !exists, query.Has("generation") && query.Get("generation") != object.Generation:
			refuse(w, http.StatusNotFound, "No such object")
		case r.Method == http.MethodDelete:
			delete(g.objects, name)
			w.WriteHeader(http.StatusNoContent)
		case query.Get("alt") == "media":
			w.Header().Set("X-Goog-Generation", object.Generation)
			http.ServeContent(w, r, "", object.Updated, bytes.NewReader(object.data))
		default:
			reply(w, object)
		}
	default:
		refuse(w, http.StatusNotFound, "The specified bucket does not exist.")
	}
}

func reply(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the client has gone away
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.WriteHeader(status)
	reply(w, map[string]any{"error": map[string]any{"code": status, "message": message}})
}

// insert begins an upload, or performs one that is a single request.
func (g *google) insert(w http.ResponseWriter, r *http.Request, data []byte) {
	s := &googleSession{create: r.URL.Query().Get("ifGenerationMatch") == "0"}
	if r.URL.Query().Get("uploadType") == "multipart" {
		_, parameters, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		reader := multipart.NewReader(bytes.NewReader(data), parameters["boundary"])
		var parts [2][]byte
		for i := range parts {
			part, err := reader.NextPart()
			if err == nil {
				parts[i], err = io.ReadAll(part)
			}
			if err != nil {
				refuse(w, http.StatusBadRequest, err.Error())
				return
			}
		}
		if err := json.Unmarshal(parts[0], &s.object); err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		s.object.data = parts[1]
		g.finish(w, s, s.object.CRC32C)
		return
	}
	if err := json.Unmarshal(data, &s.object); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if _, exists := g.objects[s.object.Name]; s.create && exists {
		refuse(w, http.StatusPreconditionFailed, "there is an object")
		return
	}
	g.generation++
	id := strconv.Itoa(g.generation)
	g.sessions[id] = s
	// The host is another than that of an endpoint.
	w.Header().Set("Location", "https://other.example"+r.URL.Path+"?uploadType=resumable&upload_id="+id)
}

func (g *google) receive(w http.ResponseWriter, r *http.Request, id string, data []byte) {
	s := g.sessions[id]
	var from, last, size int
	text := r.Header.Get("Content-Range")
	_, notWhole := fmt.Sscanf(text, "bytes %d-%d/%d", &from, &last, &size)
	if notWhole != nil {
		size = -1
	}
	if n, _ := fmt.Sscanf(text, "bytes */%d", &size); n == 1 {
		from = len(s.object.data)
	}
	taken := len(s.object.data)
	if from > taken || size < 0 && len(data)%(256<<10) != 0 {
		refuse(w, http.StatusBadRequest, "wrong range "+text)
		return
	}
	news := data[min(len(data), taken-from):]
	if g.half && len(news) > 512<<10 {
		news = news[:len(news)/2/(256<<10)*(256<<10)]
	}
	s.object.data = append(s.object.data, news...)
	if len(s.object.data) != size {
		if taken := len(s.object.data); taken > 0 {
			w.Header().Set("Range", fmt.Sprintf("bytes=0-%d", taken-1))
		}
		w.WriteHeader(http.StatusPermanentRedirect)
		return
	}
	delete(g.sessions, id)
	g.finish(w, s, strings.TrimPrefix(r.Header.Get("X-Goog-Hash"), "crc32c="))
}

// finish makes the object appear.
func (g *google) finish(w http.ResponseWriter, s *googleSession, declared string) {
	o := s.object
	sum := crc32.Checksum(o.data, crc32.MakeTable(crc32.Castagnoli))
	o.CRC32C = base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
	_, exists := g.objects[o.Name]
	switch {
	case declared != o.CRC32C && !g.careless:
		refuse(w, http.StatusBadRequest, fmt.Sprintf("Provided CRC32C %q doesn't match calculated CRC32C %q.",
			declared, o.CRC32C))
		return
	case exists && s.create:
		refuse(w, http.StatusPreconditionFailed, "there is an object")
		return
	}
	g.generation++
	o.Generation, o.Size = strconv.Itoa(g.generation), strconv.Itoa(len(o.data))
	o.Updated = time.Now()
	g.objects[o.Name] = o
	reply(w, o)
}

func (g *google) list(w http.ResponseWriter, query url.Values) {
	var page struct {
		Items         []googleObject `json:"items,omitempty"`
		Prefixes      []string       `json:"prefixes,omitempty"`
		NextPageToken string         `json:"nextPageToken,omitempty"`
	}
	most, _ := strconv.Atoi(query.Get("maxResults"))
	prefix, last := query.Get("prefix"), ""
	names := make([]string, 0, len(g.objects))
	for name := range g.objects {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		rest, matches := strings.CutPrefix(name, prefix)
		entry, isDirectory := name, false
		if before, _, found := strings.Cut(rest, "/"); found && query.Get("delimiter") == "/" {
			entry, isDirectory = prefix+before+"/", true
		}
		if !matches || entry <= query.Get("pageToken") || entry == last {
			continue
		}
		if len(page.Items)+len(page.Prefixes) == most {
			page.NextPageToken = last
			break
		}
		last = entry
		if isDirectory {
			page.Prefixes = append(page.Prefixes, entry)
		} else {
			page.Items = append(page.Items, g.objects[name])
		}
	}
	reply(w, page)
}
