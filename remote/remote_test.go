package remote_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/testhub"
	"github.com/modelpatch/modelpatch/remote"
	"github.com/modelpatch/modelpatch/report"
)

// quick are options for servers on this machine.
func quick() remote.Options {
	return remote.Options{AllowPrivate: true, Pause: time.Millisecond, Stall: 30 * time.Second, Longest: 2 * time.Second, Environment: func(string) string { return "" }}
}

// environment gives the hub's address and its token.
func environment(h *testhub.Hub) func(string) string {
	return func(name string) string {
		return map[string]string{"HF_ENDPOINT": h.Addr, "HF_TOKEN": testhub.Token}[name]
	}
}

// random writes a file of so many bytes that follow no pattern.
func random(t testing.TB, folder, name string, n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	if err := os.WriteFile(filepath.Join(folder, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
	return b
}

// readAll reads a file in steps, in order.
func readAll(f *remote.File, step int) ([]byte, error) {
	out := make([]byte, 0, 1<<20)
	for at := int64(0); ; {
		b := make([]byte, step)
		n, err := f.ReadAt(b, at)
		out, at = append(out, b[:n]...), at+int64(n)
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
	}
}

// text is a report as it is printed.
func text(t *testing.T, r report.Inspect) string {
	line, err := report.Line(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(line)
}

// TestReports: models on a hub have the reports that they have on a disk, byte for byte but for the
// folder, with their shards and data files.
func TestReports(t *testing.T) {
	for _, folder := range []string{"../testdata/gguf", "../testdata/onnx", "../../shared/corpus/gguf", "../../shared/corpus/onnx"} {
		entries, _ := os.ReadDir(folder)
		h := testhub.Start(t, folder, 0)
		o := quick()
		o.Environment = environment(h)
		c := remote.New(t.Context(), o)
		for i, e := range entries {
			name := e.Name()
			if end := filepath.Ext(name); end != ".gguf" && end != ".onnx" || testing.Short() && i%5 != 0 {
				continue
			}
			want, err := modelpatch.Inspect(t.Context(), filepath.Join(folder, name), modelpatch.OpenOptions{})
			for _, base := range []string{"hf://private/repo/", h.Store + "/plain/", h.Store + "/whole/", h.Store + "/busy-twice/", h.Store + "/strict/"} {
				got, rerr := modelpatch.Inspect(t.Context(), base+name, modelpatch.OpenOptions{Remote: c.Reader, Scan: true})
				if (err == nil) != (rerr == nil) {
					t.Errorf("%s%s: %v, and on a disk %v", base, name, rerr, err)
				} else if err == nil && text(t, got) != strings.ReplaceAll(text(t, want), folder+"/", base) {
					t.Errorf("%s%s: another report:\n%s\n%s", base, name, text(t, got), text(t, want))
				}
				if testing.Short() {
					break
				}
			}
		}
		if leaks := h.Leaks(); leaks != nil {
			t.Errorf("the token left the hub: %v", leaks)
		}
	}
}

// TestFaults: every fault of a server is a clear error, or passes; none is waited for for long, and
// no message has a secret in it.
func TestFaults(t *testing.T) {
	folder := t.TempDir()
	content := random(t, folder, "m.bin", 900_000)
	random(t, folder, "huge.bin", 9<<20)
	os.WriteFile(filepath.Join(folder, "empty.bin"), nil, 0o600)
	h := testhub.Start(t, folder, 0)
	for _, x := range []struct{ at, want string }{
		{"plain/m.bin", ""}, {"cut-once/m.bin", ""}, {"busy-twice/m.bin", ""}, {"wait-once/m.bin", ""}, {"short/m.bin", "sends less than is asked for (5 attempts)"},
		{"whole/m.bin", ""}, {"unnamed/m.bin", ""}, {"expiring/m.bin", ""}, {"strict/m.bin", ""}, {"plain/empty.bin", ""},
		{"signed/m.bin?signature=" + testhub.Secret, ""},
		{"slow/m.bin", "the server fell silent (5 attempts)"},
		{"silent/m.bin", "cannot be read"},
		{"cut/m.bin", "connection"},
		{"changing/m.bin", "changed while it was read: its ETag is another one now"},
		{"replaced/m.bin", "changed while it was read: the server has another version now"},
		{"unversioned/m.bin", "does not tell any more which version it sends"},
		{"growing/m.bin", "it had 900001 bytes and has 900002 now"},
		{"endless/m.bin", "sends no ranges: it would send a file of unknown size"},
		{"large/m.bin", "sends no ranges: it would send all 1073741824 bytes"},
		{"whole/huge.bin", "sends no ranges: it would send all 9437184 bytes"},
		{"elsewhere/m.bin", "were asked for"},
		{"lying/m.bin", "cannot be read"},
		{"unlabelled/m.bin", "does not say which range it sends"},
		{"compressed/m.bin", "the server compresses it"},
		{"forbidden/m.bin?signature=" + testhub.Secret, "403 Forbidden"},
		{"limited/m.bin", "429 Too Many Requests, and asks to wait for 24h0m0s"},
		{"broken/m.bin", "500 Internal Server Error (5 attempts)"},
		{"loop/m.bin", "redirects more than 8 times"},
		{"nowhere/m.bin", "redirects to nowhere"},
		{"file/m.bin", "redirects to an address without a server"},
		{"plain/none.bin", "404 Not Found"},
	} {
		t.Run(strings.ReplaceAll(x.at, "/", "_"), func(t *testing.T) {
			t.Parallel()
			o := quick()
			if strings.HasPrefix(x.at, "s") && x.want != "" {
				o.Stall = 100 * time.Millisecond // slow, silent: others are waited for on a busy machine
			}
			c := remote.New(t.Context(), o)
			began := time.Now()
			f, err := c.Open(t.Context(), h.Store+"/"+x.at)
			var got []byte
			if err == nil {
				got, err = readAll(f, 40_000)
			}
			if time.Since(began) > 25*time.Second { // less than one silence by default
				t.Errorf("it took %s", time.Since(began))
			}
			want := content
			if strings.Contains(x.at, "empty") {
				want = nil
			}
			switch {
			case x.want == "" && (err != nil || !bytes.Equal(got, want)):
				t.Errorf("%v; %d bytes", err, len(got))
			case x.want == "":
			case err == nil || !strings.Contains(err.Error(), x.want):
				t.Errorf("%v, want %q", err, x.want)
			case !bytes.HasPrefix(want, got):
				t.Error("wrong bytes before the error")
			}
			if said := fmt.Sprint(err, report.Hints(err)); strings.Contains(said, testhub.Secret) || strings.Contains(said, "signature=") {
				t.Errorf("a secret was told: %s", said)
			}
			if strings.Contains(x.at, "none") && !errors.Is(err, fs.ErrNotExist) {
				t.Error("a missing file is not fs.ErrNotExist")
			}
			if f != nil && strings.HasPrefix(x.at, "unnamed") == f.Pinned() {
				t.Errorf("pinned: %v", f.Pinned())
			}
		})
	}
}

// TestHubErrors: what the hub says is said, and the token is not.
func TestHubErrors(t *testing.T) {
	h := testhub.Start(t, t.TempDir(), 0)
	for _, x := range []struct{ at, token, want, hint string }{
		{"hf://private/repo/m.gguf", "", "401 Unauthorized: RepoNotFound", "HF_TOKEN gives a token"},
		{"hf://private/repo/m.gguf", testhub.Token + "x", "401 Unauthorized: RepoNotFound", "the token that is set may not read it"},
		{"hf://private/repo/m.gguf", testhub.Token, "404 Not Found: EntryNotFound", ""},
		{"hf://private/repo/m.gguf", testhub.Token + "\nX: y", "holds white space", ""},
		{"hf://private", "", "names no file of a repository", "hf://ORG/REPO/FILE"},
	} {
		o := quick()
		o.Environment = func(name string) string { return map[string]string{"HF_ENDPOINT": h.Addr, "HF_TOKEN": x.token}[name] }
		_, err := remote.New(t.Context(), o).Open(t.Context(), x.at)
		said := fmt.Sprint(err, report.Hints(err))
		if err == nil || !strings.Contains(err.Error(), x.want) || !strings.Contains(said, x.hint) || strings.Contains(said, "SECRET") {
			t.Errorf("%s: %s, want %q and %q", x.at, said, x.want, x.hint)
		}
	}
}

// TestPrivate: servers in private networks are refused unless they are asked for: by address, by
// name, and where a redirect leads.
func TestPrivate(t *testing.T) {
	h := testhub.Start(t, t.TempDir(), 0)
	port := h.Store[strings.LastIndex(h.Store, ":"):]
	for at, want := range map[string]string{
		"https://127.0.0.1" + port + "/plain/m":          "of a private network or this machine",
		"https://localhost" + port + "/plain/m":          "of a private network or this machine",
		"https://[::1]" + port + "/plain/m":              "of a private network or this machine",
		"https://[::ffff:127.0.0.1]" + port + "/plain/m": "of a private network or this machine",
		"https://[64:ff9b::a00:1]" + port + "/plain/m":   "of a private network or this machine",
		"https://10.0.0.1/m":                             "of a private network or this machine",
		"https://169.254.169.254/latest/meta-data":       "of a private network or this machine",
		"https://0.0.0.0" + port + "/m":                  "of a private network or this machine",
		h.Store + "/plain/m":                             "http:// is not encrypted",
		"oci://127.0.0.1" + port + "/name:tag":           "of a private network or this machine",
	} {
		o := quick()
		o.AllowPrivate = false
		c := remote.New(t.Context(), o)
		_, err := c.Open(t.Context(), at)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(fmt.Sprint(report.Hints(err)), "allow private") {
			t.Errorf("%s: %v %v", at, err, report.Hints(err))
		}
	}
	if n, _ := h.Used(); n != 0 {
		t.Errorf("%d requests were made all the same", n)
	}
}

// TestOfflineAndLimits: nothing is asked for offline, and no more is fetched than is allowed.
func TestOfflineAndLimits(t *testing.T) {
	folder := t.TempDir()
	random(t, folder, "m.bin", 2<<20)
	h := testhub.Start(t, folder, 0)
	o := quick()
	o.Offline = true
	if _, err := remote.New(t.Context(), o).Open(t.Context(), h.Store+"/plain/m.bin"); err == nil || !strings.Contains(err.Error(), "offline") {
		t.Error(err)
	}
	o = quick()
	o.MaxBytes = 1 << 20
	c := remote.New(t.Context(), o)
	f, err := c.Open(t.Context(), h.Store+"/plain/m.bin")
	if err != nil {
		t.Fatal(err)
	}
	got, err := readAll(f, 64<<10)
	if err == nil || !strings.Contains(err.Error(), "more than 1048576 bytes would be fetched") || len(got) > 1<<20 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, n := h.Used(); n > 1<<20 {
		t.Errorf("%d bytes were fetched", n)
	}
	// Requests that are under way count as well.
	random(t, folder, "large.bin", 8<<20)
	o.MaxBytes = 3 << 20
	if f, err = remote.New(t.Context(), o).Open(t.Context(), h.Store+"/plain/large.bin"); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() { f.ReadAt(make([]byte, 1<<20), int64(i)<<20) })
	}
	wait.Wait()
	if _, n := h.Used(); n > 3<<20 || n < 1<<20 {
		t.Errorf("%d bytes were fetched by eight at a time", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c = remote.New(ctx, quick())
	if f, err = c.Open(ctx, h.Store+"/plain/m.bin"); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := readAll(f, 64<<10); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestCertificates: a server that nobody vouches for is refused.
func TestCertificates(t *testing.T) {
	s := httptest.NewTLSServer(http.FileServer(http.Dir("../testdata/gguf")))
	defer s.Close()
	s.Config.ErrorLog = nil
	if _, err := remote.New(t.Context(), quick()).Open(t.Context(), s.URL+"/gpt2-f32.gguf"); err == nil || !strings.Contains(err.Error(), "its certificate is not trusted") {
		t.Error(err)
	}
	o := quick()
	o.TLS = s.Client().Transport.(*http.Transport).TLSClientConfig
	f, err := remote.New(t.Context(), o).Open(t.Context(), s.URL+"/gpt2-f32.gguf")
	if err != nil || f.Size() == 0 {
		t.Error(err)
	}
	// A redirect from https to http is refused.
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	down := httptest.NewTLSServer(http.RedirectHandler(plain.URL+"/m?"+testhub.Secret, http.StatusFound))
	defer down.Close()
	o.TLS = &tls.Config{InsecureSkipVerify: true}
	if _, err := remote.New(t.Context(), o).Open(t.Context(), down.URL+"/m"); err == nil || !strings.Contains(err.Error(), "which is not encrypted") || strings.Contains(err.Error(), testhub.Secret) {
		t.Error(err)
	}
}

// TestConcurrent reads one file in many goroutines, at random.
func TestConcurrent(t *testing.T) {
	folder := t.TempDir()
	content := random(t, folder, "m.bin", 3<<20)
	h := testhub.Start(t, folder, time.Millisecond)
	c := remote.New(t.Context(), quick())
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			f, err := c.Open(t.Context(), h.Store+"/plain/m.bin")
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for range 100 {
				at, n := r.IntN(len(content)), r.IntN(100_000)
				b := make([]byte, n)
				got, err := f.ReadAt(b, int64(at))
				if want := content[at:min(at+n, len(content))]; err != nil && err != io.EOF || !bytes.Equal(b[:got], want) {
					t.Errorf("%d at %d: %d, %v", n, at, got, err)
				}
			}
		})
	}
	all.Wait()
	if _, n := h.Used(); n > 4<<20 {
		t.Errorf("%d bytes of 3 MiB were fetched", n)
	}
}

// TestGuess: jumps that repeat cost no round trip each.
func TestGuess(t *testing.T) {
	const size, stride = 400 << 20, 3 << 20
	h := testhub.StartReader(t, "m.bin", zeros{}, size, 10*time.Millisecond)
	c := remote.New(t.Context(), quick())
	f, err := c.Open(t.Context(), h.Store+"/plain/m.bin")
	if err != nil {
		t.Fatal(err)
	}
	began, n := time.Now(), 0
	b := make([]byte, 1024)
	for at := int64(stride); at < size; at += stride + int64(n%7) {
		if _, err := f.ReadAt(b, at); err != nil {
			t.Fatal(err)
		}
		n++
	}
	requests, bytes := h.Used()
	t.Logf("%d jumps, %d requests, %d at a time, %s", n, requests, h.Most(), time.Since(began))
	if h.Most() < 6 {
		t.Errorf("at most %d of %d requests were made at a time", h.Most(), requests)
	}
	if requests > n+12 || bytes > int64(n+12)*(48<<10) {
		t.Errorf("%d requests and %d bytes for %d jumps", requests, bytes, n)
	}
}

// zeros has nothing but zeros.
type zeros struct{}

// ReadAt gives zeros.
func (zeros) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

// TestEvicted reads a range whose first pages were used longest ago: what makes room for its other
// pages must not drop these.
func TestEvicted(t *testing.T) {
	const mib = 1 << 20
	content := make([]byte, 64*mib)
	rand.NewChaCha8([32]byte{2}).Read(content)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"a"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}))
	defer server.Close()
	o := quick()
	o.MaxBytes = -1
	f, err := remote.New(t.Context(), o).Open(t.Context(), server.URL+"/m.gguf")
	if err != nil {
		t.Fatal(err)
	}
	check := func(at, n int64) {
		got := make([]byte, n)
		if _, err := f.ReadAt(got, at); err != nil || !bytes.Equal(got, content[at:at+n]) {
			t.Fatalf("%d bytes at %d: %v", n, at, err)
		}
	}
	for first := int64(0); first < 24*mib; first += 3 * mib {
		check(first, mib)
		for at := int64(24 * mib); at < 56*mib; at += 7 * mib { // fills what is kept
			check(at, 6*mib)
		}
		check(first, 8*mib)
	}
	var wait sync.WaitGroup
	for i := range int64(8) {
		wait.Go(func() {
			for k := range int64(20) {
				check((i*7+k*11)%56*mib+k*5000, 7*mib)
			}
		})
	}
	wait.Wait()
}

// TestSlow: a server that sends just enough not to be silent has a budget of time, which is told.
func TestSlow(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Range", "bytes 0-65535/1000000000")
		w.Header().Set("Content-Length", "65536")
		w.WriteHeader(http.StatusPartialContent)
		for range 65536 {
			if _, err := w.Write([]byte{0}); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}))
	defer server.Close()
	o := quick()
	o.Patience = 200 * time.Millisecond
	start := time.Now()
	_, err := remote.New(t.Context(), o).Open(t.Context(), server.URL+"/m.gguf")
	if err == nil || !strings.Contains(err.Error(), "servers took too long: 200ms are allowed, and 1s for each request") {
		t.Error(err)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
}
