// Package testhub is a model hub for tests: files of a folder as Hugging Face's hub serves them (an
// address of a repository redirects to a signed one on another server) and as plain web servers
// do, with the faults that servers have.
package testhub

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Secret stands in every signed address; no message may hold it.
const Secret = "SIGNATURE-7d1f"

// Token is what the hub wants to be shown; no other server may see it.
const Token = "hf_SECRETTOKEN-91c2"

// Hub is a running hub: two servers, so that a redirect leads to another one.
type Hub struct {
	Addr  string // of the hub, http://127.0.0.1:PORT
	Store string // of the server that it redirects to

	delay time.Duration
	open  func(name string) (content, bool)

	mu       sync.Mutex
	requests int
	bytes    int64
	leaks    []string
	seen     map[string]int // requests by path, for faults that end
	busy     int            // requests under way
	most     int            // the most at a time
}

type content struct {
	io.ReaderAt
	size int64
	etag string
}

// Start serves the files of a folder; each answer takes at least delay.
func Start(t testing.TB, folder string, delay time.Duration) *Hub {
	return serve(t, delay, func(name string) (content, bool) {
		b, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name)))
		sum := sha256.Sum256(b)
		return content{bytes.NewReader(b), int64(len(b)), `"` + hex.EncodeToString(sum[:]) + `"`}, err == nil
	})
}

// StartReader serves one file that needs not be anywhere.
func StartReader(t testing.TB, name string, r io.ReaderAt, size int64, delay time.Duration) *Hub {
	return serve(t, delay, func(asked string) (content, bool) { return content{r, size, `"one"`}, asked == name })
}

func serve(t testing.TB, delay time.Duration, open func(string) (content, bool)) *Hub {
	h := &Hub{delay: delay, open: open, seen: map[string]int{}}
	hub, store := httptest.NewUnstartedServer(http.HandlerFunc(h.hub)), httptest.NewUnstartedServer(http.HandlerFunc(h.store))
	h.Addr, h.Store = "http://"+hub.Listener.Addr().String(), "http://"+store.Listener.Addr().String()
	hub.Start()
	store.Start()
	t.Cleanup(hub.Close)
	t.Cleanup(store.Close)
	return h
}

// Used tells the requests and bytes so far, and starts anew.
func (h *Hub) Used() (requests int, bytes int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	requests, bytes = h.requests, h.bytes
	h.requests, h.bytes = 0, 0
	return requests, bytes
}

// Leaks are requests in which a server saw what is for another.
func (h *Hub) Leaks() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.leaks
}

// times counts the requests of a path.
func (h *Hub) times(path string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen[path]++
	return h.seen[path]
}

// hub answers /ORG/REPO/resolve/REV/FILE with a redirect to the store.
func (h *Hub) hub(w http.ResponseWriter, r *http.Request) {
	h.began()
	_, name, ok := strings.Cut(r.URL.Path, "/resolve/main/")
	if r.URL.Path == "/private/repo/resolve/main/"+name && r.Header.Get("Authorization") != "Bearer "+Token {
		w.Header().Set("X-Error-Code", "RepoNotFound")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if _, there := h.open(name); !ok || !there {
		w.Header().Set("X-Error-Code", "EntryNotFound")
		w.WriteHeader(http.StatusNotFound)
		return
	}
	signed := h.Store + "/signed/" + (&url.URL{Path: name}).EscapedPath() + "?signature=" + Secret + "&n=" + strconv.Itoa(h.times(r.URL.Path))
	http.Redirect(w, r, signed, http.StatusFound)
}

// began counts a request and lets it wait.
func (h *Hub) began() {
	add := func(n int) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.requests += max(n, 0)
		h.busy += n
		h.most = max(h.most, h.busy)
	}
	add(1)
	time.Sleep(h.delay)
	add(-1)
}

// Most is how many requests waited at the same time, at most.
func (h *Hub) Most() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.most
}

// store answers /signed/FILE and /FAULT/FILE.
func (h *Hub) store(w http.ResponseWriter, r *http.Request) {
	h.began()
	if a := r.Header.Get("Authorization"); a != "" {
		h.mu.Lock()
		h.leaks = append(h.leaks, r.URL.Path+" got "+a)
		h.mu.Unlock()
	}
	kind, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	c, ok := h.open(name)
	if !ok {
		http.NotFound(w, r)
		return
	}
	w = &counted{w, h}
	if f := faults[kind]; f != nil {
		f(h, w, r, c, h.times(r.URL.Path))
		return
	}
	if kind != "signed" && kind != "plain" {
		http.Error(w, "no such fault", http.StatusBadRequest)
		return
	}
	c.serve(w, r)
}

// serve is a sound answer.
func (c content) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", c.etag)
	http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(c, 0, c.size))
}

// counted counts the bytes of answers.
type counted struct {
	http.ResponseWriter
	hub *Hub
}

// Write counts.
func (w *counted) Write(b []byte) (int, error) {
	w.hub.mu.Lock()
	w.hub.bytes += int64(len(b))
	w.hub.mu.Unlock()
	return w.ResponseWriter.Write(b)
}

// asked is the range of a request.
func asked(r *http.Request, size int64) (first, end int64) {
	var last int64
	if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last); n != 2 {
		return 0, size
	}
	return first, min(last+1, size)
}

// ranged starts an answer for what was asked for.
func ranged(w http.ResponseWriter, c content, first, end, total int64) {
	w.Header().Set("ETag", c.etag)
	w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, end-1, total))
	w.Header().Set("Content-Length", strconv.FormatInt(end-first, 10))
	w.WriteHeader(http.StatusPartialContent)
}

// hang up ends the connection without what was promised.
func hangUp(w http.ResponseWriter) {
	if c, ok := w.(*counted); ok {
		w = c.ResponseWriter
	}
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	if j, ok := w.(http.Hijacker); ok {
		if conn, _, err := j.Hijack(); err == nil {
			conn.(*net.TCPConn).SetLinger(0)
			conn.Close()
		}
	}
}

// Faults are what a store does wrong, by the first part of the path; n counts the requests of the
// path from 1.
var faults = map[string]func(h *Hub, w http.ResponseWriter, r *http.Request, c content, n int){
	// Faults that pass.
	"cut-once": func(_ *Hub, w http.ResponseWriter, r *http.Request, c content, n int) {
		if n > 1 {
			c.serve(w, r)
			return
		}
		first, end := asked(r, c.size)
		ranged(w, c, first, end, c.size)
		io.Copy(w, io.NewSectionReader(c, first, (end-first)/2))
		hangUp(w)
	},
	"busy-twice": func(_ *Hub, w http.ResponseWriter, r *http.Request, c content, n int) {
		if n > 2 {
			c.serve(w, r)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	},
	"wait-once": func(_ *Hub, w http.ResponseWriter, r *http.Request, c content, n int) {
		if n > 1 {
			c.serve(w, r)
			return
		}
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	},
	"short": func(_ *Hub, w http.ResponseWriter, r *http.Request, c content, _ int) { // half of each range, rightly told
		first, end := asked(r, c.size)
		end = first + max((end-first)/2, min(end-first, 1000))
		ranged(w, c, first, end, c.size)
		io.Copy(w, io.NewSectionReader(c, first, end-first))
	},
	"whole": func(_ *Hub, w http.ResponseWriter, r *http.Request, c content, _ int) { // no ranges
		w.Header().Set("Content-Length", strconv.FormatInt(c.size, 10))
		io.Copy(w, io.NewSectionReader(c, 0, c.size))
	},
	"strict": func(_ *Hub, w http.ResponseWriter, r *http.Request, c content, _ int) { // no range that ends behind the end
		var first, last int64
		if fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &first, &last); last >= c.size {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes */%d", c.size))
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return
		}
		c.serve(w, r)
	},
	"unnamed": func(_ *Hub, w http.ResponseWriter, r *http.Request, c content, _ int) { // no ETag
		http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(c, 0, c.size))
	},
	// Faults that do not.
	"slow": func(_ *Hub, w http.ResponseWriter, r *http.Request, c content, _ int) {
		first, end := asked(r, c.size)
		ranged(w, c, first, end, c.size)
		w.(*counted).ResponseWriter.(http.Flusher).Flush()
		<-r.Context().Done()
	},
	"silent": func(_ *Hub, _ http.ResponseWriter, r *http.Request, _ content, _ int) { <-r.Context().Done() },
	"cut": func(_ *Hub, w http.ResponseWriter, r *http.Request, c content, _ int) {
		first, end := asked(r, c.size)
		ranged(w, c, first, end, c.size)
		hangUp(w)
	},
	"changing": func(_ *Hub, w http.ResponseWriter, r *http.Request, c content, n int) { // after the first request, unseen by If-Match
		r.Header.Del("If-Match")
		c.etag = fmt.Sprintf(`"%d"`, min(n, 2))
		c.serve(w, r)
	},
	"replaced": func(_ *Hub, w http.ResponseWriter, r *http.Request, c content, n int) { // seen by If-Match
		c.etag = fmt.Sprintf(`"%d"`, min(n, 2))
		c.serve(w, r)
	},
	"unversioned": func(_ *Hub, w http.ResponseWriter, r *http.Request, c content, n int) { // names its version once
		r.Header.Del("If-Match")
		if n == 1 {
			w.Header().Set("ETag", c.etag)
		}
		http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(c, 0, c.size))
	},
	"growing": func(_ *Hub, w http.ResponseWriter, r *http.Request, c content, n int) { // another size
		first, end := asked(r, c.size)
		ranged(w, c, first, end, c.size+int64(min(n, 2)))
		io.Copy(w, io.NewSectionReader(c, first, end-first))
	},
	"endless": func(_ *Hub, w http.ResponseWriter, _ *http.Request, _ content, _ int) { // no ranges, no size
		for range 1 << 10 {
			if _, err := w.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	},
	"large": func(_ *Hub, w http.ResponseWriter, _ *http.Request, _ content, _ int) { // no ranges of a large file
		w.Header().Set("Content-Length", strconv.Itoa(1<<30))
		w.Write(make([]byte, 64<<10))
	},
	"elsewhere": func(_ *Hub, w http.ResponseWriter, r *http.Request, c content, _ int) { // another range
		first, end := asked(r, c.size)
		ranged(w, c, first+1, end+1, c.size+1)
		io.Copy(w, io.NewSectionReader(c, first, end-first))
	},
	"lying": func(_ *Hub, w http.ResponseWriter, r *http.Request, c content, _ int) { // more bytes than the file has
		first, end := asked(r, c.size)
		ranged(w, c, first, end, 1<<61)
		io.Copy(w, io.NewSectionReader(c, first, end-first))
	},
	"unlabelled": func(_ *Hub, w http.ResponseWriter, _ *http.Request, c content, _ int) {
		w.WriteHeader(http.StatusPartialContent)
		io.Copy(w, io.NewSectionReader(c, 0, min(c.size, 1000)))
	},
	"compressed": func(_ *Hub, w http.ResponseWriter, r *http.Request, c content, _ int) {
		w.Header().Set("Content-Encoding", "gzip")
		c.serve(w, r)
	},
	"forbidden": func(_ *Hub, w http.ResponseWriter, r *http.Request, _ content, _ int) {
		http.Error(w, "<Error><StringToSign>"+r.URL.RawQuery+"</StringToSign></Error>", http.StatusForbidden)
	},
	"limited": func(_ *Hub, w http.ResponseWriter, _ *http.Request, _ content, _ int) {
		w.Header().Set("Retry-After", "86400")
		w.WriteHeader(http.StatusTooManyRequests)
	},
	"broken": func(_ *Hub, w http.ResponseWriter, _ *http.Request, _ content, _ int) {
		w.WriteHeader(http.StatusInternalServerError)
	},
	"loop": func(_ *Hub, w http.ResponseWriter, r *http.Request, _ content, n int) {
		http.Redirect(w, r, fmt.Sprintf("%s?n=%d", r.URL.Path, n), http.StatusFound)
	},
	"nowhere": func(_ *Hub, w http.ResponseWriter, _ *http.Request, _ content, _ int) {
		w.WriteHeader(http.StatusFound)
	},
	"file": func(_ *Hub, w http.ResponseWriter, r *http.Request, _ content, _ int) {
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	},
	"inside": func(_ *Hub, w http.ResponseWriter, r *http.Request, _ content, _ int) { // of the provider's network
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/?"+Secret, http.StatusFound)
	},
	"page": func(_ *Hub, w http.ResponseWriter, _ *http.Request, _ content, _ int) {
		io.WriteString(w, "<!doctype html><title>Sign in</title>")
	},
	// Signed addresses that end: every second request of one is refused.
	"expiring": func(h *Hub, w http.ResponseWriter, r *http.Request, c content, _ int) {
		switch r.URL.Query().Get("signature") {
		case "":
			http.Redirect(w, r, fmt.Sprintf("%s?signature=%s%d", r.URL.Path, Secret, h.times("issue "+r.URL.Path)), http.StatusFound)
		default:
			if h.times("use "+r.URL.RawQuery) > 1 {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			c.serve(w, r)
		}
	},
}
