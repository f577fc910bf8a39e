package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// memory is a client with files in memory.
type memory map[string]string

// Reader opens a file.
func (m memory) Reader(_ context.Context, at string) (io.ReaderAt, int64, bool, error) {
	b, ok := m[at]
	if !ok {
		return nil, 0, false, fs.ErrNotExist
	}
	return strings.NewReader(b), int64(len(b)), true, nil
}

// Used tells numbers that a test knows again.
func (m memory) Used() (requests, bytes int64) { return 3, 5 }

// TestMain is the second executable where the test asks for it.
func TestMain(m *testing.M) {
	switch os.Getenv("PROCESS_TEST") {
	case "serve":
		err := Serve(context.Background(), os.Stdin, os.Stdout, func(context.Context, Options) Client { return memory{"https://h/a": "hello, world"} })
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case "garbage":
		os.Stdout.WriteString(strings.Repeat("garbage", 1000))
		os.Exit(0)
	case "crash":
		os.Stderr.WriteString("out of luck\n")
		os.Exit(7)
	}
	os.Exit(m.Run())
}

// start makes sources whose executable is this test.
func start(t *testing.T, as string) *Sources {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Symlink(self, filepath.Join(folder, Name)); err != nil {
		t.Skip("no links here: ", err)
	}
	t.Setenv("PATH", folder)
	t.Setenv("PROCESS_TEST", as)
	s := New(Options{}, nil)
	t.Cleanup(func() { s.Close() })
	return s
}

func TestSources(t *testing.T) {
	s := start(t, "serve")
	r, size, err := s.Reader(t.Context(), "https://h/a")
	if err != nil || size != 12 {
		t.Fatal(size, err)
	}
	b := make([]byte, 20)
	if n, err := r.ReadAt(b, 7); err != io.EOF || string(b[:n]) != "world" {
		t.Errorf("%q, %v", b[:n], err)
	}
	if n, err := r.ReadAt(b, 12); err != io.EOF || n != 0 {
		t.Errorf("%d at the end, %v", n, err)
	}
	if _, _, err := s.Reader(t.Context(), "https://h/b?sig=secret"); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	if requests, bytes, pinned := s.Used(); requests != 3 || bytes != 5 || !pinned {
		t.Error(requests, bytes, pinned)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Reader(ctx, "https://h/a"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := r.ReadAt(b, 0); err == nil {
		t.Error("an executable that was ended answers")
	}
}

// TestBroken: an executable that fails is a clear error, and is not waited for.
func TestBroken(t *testing.T) {
	for as, want := range map[string]string{"garbage": "a message of", "crash": "ended without an answer; it said last: out of luck"} {
		_, _, err := start(t, as).Reader(t.Context(), "https://h/a?sig=secret")
		if err == nil || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "broken pipe") || !strings.HasPrefix(err.Error(), "https://h/a: cannot be read: ") {
			t.Errorf("%s: %v", as, err)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, _, err := New(Options{}, nil).Reader(t.Context(), "https://h/a"); err == nil || !strings.Contains(err.Error(), "neither beside modelpatch nor on PATH") {
		t.Error(err)
	}
	if _, _, err := New(Options{Offline: true}, nil).Reader(t.Context(), "https://h/a"); err == nil || !strings.Contains(err.Error(), "offline") {
		t.Error(err)
	}
}

// TestRelease: executables of other releases are told so.
func TestRelease(t *testing.T) {
	var out bytes.Buffer
	hello := message{kind: askHello, number: 1, payload: []byte(`{"protocol":99}`)}
	if err := Serve(t.Context(), bytes.NewReader(hello.bytes()), &out, nil); err == nil {
		t.Error("served")
	}
	m, err := readMessage(&out)
	var f Failure
	if err != nil || json.Unmarshal(m.payload, &f) != nil || !strings.Contains(f.Text, "of another release") {
		t.Errorf("%v %q", err, m.payload)
	}
}

// FuzzServe: whatever comes, the answers are whole messages.
func FuzzServe(f *testing.F) {
	hello := message{kind: askHello, number: 1, payload: []byte(`{"protocol":1}`)}.bytes()
	open := message{kind: askOpen, number: 2, payload: []byte("https://h/a")}.bytes()
	read := message{kind: askRead, number: 3, file: 1, at: 2, size: 5}.bytes()
	f.Add(append(append(bytes.Clone(hello), open...), read...))
	f.Add(append(bytes.Clone(hello), 9, 9, 9))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		_ = Serve(t.Context(), bytes.NewReader(in), &out, func(context.Context, Options) Client { return memory{"https://h/a": "hello"} })
		for {
			if _, err := readMessage(&out); err == io.EOF {
				return
			} else if err != nil {
				t.Fatal(err)
			}
		}
	})
}
