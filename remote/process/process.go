// Package process has a second executable, modelpatch-remote, read files from servers. What it needs
// for that (HTTP, TLS) would cost the first one a fifth of its start, and most runs read
// files on disks.
//
// [Sources] starts it when the first address is opened; Reader has the form of
// modelpatch.OpenOptions.Remote. [Serve] is the other side. They talk through the executable's
// standard input and output: JSON lines would cost base64, so messages are binary, each with its
// length first.
package process

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelpatch/modelpatch/remote/address"
	"github.com/modelpatch/modelpatch/report"
)

// Name is the executable's name.
const Name = "modelpatch-remote"

// Options are those of the client that reads; see remote.Options.
type Options struct {
	Protocol     int    `json:"protocol"` // set by Sources
	Offline      bool   `json:"offline,omitempty"`
	MaxBytes     int64  `json:"max_bytes,omitempty"`
	AllowPrivate bool   `json:"allow_private,omitempty"`
	Agent        string `json:"agent,omitempty"`
}

// Failure is an error on its way between the processes.
type Failure struct {
	Text     string          `json:"text"` // a line, without secrets
	Hint     string          `json:"hint,omitempty"`
	Remedies []report.Remedy `json:"remedies,omitempty"`
	Missing  bool            `json:"missing,omitempty"`
}

// Error is the line.
func (f *Failure) Error() string { return f.Text }

// Is reports whether the file is not there, as fs.ErrNotExist.
func (f *Failure) Is(target error) bool { return f.Missing && target == fs.ErrNotExist }

// Advice returns what to do about it, as a sentence and as options.
func (f *Failure) Advice() (string, []report.Remedy) { return f.Hint, f.Remedies }

// Hints returns the same as lines.
func (f *Failure) Hints() []string {
	var out []string
	if f.Hint != "" {
		out = append(out, f.Hint)
	}
	for _, r := range f.Remedies {
		out = append(out, r.String())
	}
	return out
}

// Find returns the executable: beside this one, or on PATH.
func Find() (string, error) {
	name := Name
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		for _, self := range []string{self, resolved(self)} {
			beside := filepath.Join(filepath.Dir(self), name)
			if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
				return beside, nil
			}
		}
	}
	return exec.LookPath(Name)
}

// resolved is a path without links; itself where that cannot be told.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// Sources reads files by their address through the second executable. It may be used by several
// goroutines.
type Sources struct {
	options         Options
	tell            func(requests, bytes int64)
	requests, bytes atomic.Int64
	unpinned        atomic.Bool

	starting sync.Mutex
	running  *running // nil: not started yet, or ended
	closed   bool
}

// New makes sources. Nothing is started before an address is opened. tell, if not nil, is told of
// requests and bytes so far.
func New(o Options, tell func(requests, bytes int64)) *Sources {
	o.Protocol = protocol
	return &Sources{options: o, tell: tell}
}

// Used tells how many requests were made so far and how many bytes came, and whether all files
// were of servers that name the version that they send.
func (s *Sources) Used() (requests, bytes int64, pinned bool) {
	return s.requests.Load(), s.bytes.Load(), !s.unpinned.Load()
}

// Reader opens the file at an address. The reader is an io.Closer; its reads end with ctx.
func (s *Sources) Reader(ctx context.Context, at string) (io.ReaderAt, int64, error) {
	if s.options.Offline {
		return nil, 0, &Failure{Text: address.Show(at) + ": refused: addresses are not read offline", Hint: "name a file on this machine"}
	}
	p, err := s.start()
	if err != nil {
		return nil, 0, &Failure{Text: address.Show(at) + ": cannot be read: " + err.Error()}
	}
	a, err := s.ask(ctx, p, message{kind: askOpen, payload: []byte(at)})
	if err != nil {
		return nil, 0, s.worded(ctx, at, err)
	}
	if len(a.payload) < openedBytes {
		return nil, 0, s.worded(ctx, at, errGarbled)
	}
	size := int64(binary.LittleEndian.Uint64(a.payload))
	if a.payload[8] == 0 {
		s.unpinned.Store(true)
	}
	return &file{sources: s, process: p, ctx: ctx, at: at, number: a.file, size: size, version: string(a.payload[openedBytes:])}, size, nil
}

// worded gives an error that did not come from a server the address.
func (s *Sources) worded(ctx context.Context, at string, err error) error {
	if _, ok := errors.AsType[*Failure](err); ok {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &Failure{Text: address.Show(at) + ": cannot be read: " + err.Error()}
}

// Close ends the executable.
func (s *Sources) Close() error {
	s.starting.Lock()
	defer s.starting.Unlock()
	s.closed = true
	if s.running == nil {
		return nil
	}
	return s.running.end()
}

// file is a file that the executable has open.
type file struct {
	sources *Sources
	process *running
	ctx     context.Context
	at      string
	number  uint32
	size    int64
	version string
	close   sync.Once
}

// Version is the file's ETag; "" where the server tells none.
func (f *file) Version() string { return f.version }

// ReadAt reads bytes of the file, io.EOF at its end.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	done := 0
	for done < len(p) {
		at := off + int64(done)
		if at < 0 || at >= f.size {
			return done, io.EOF
		}
		n := min(int64(len(p)-done), f.size-at, mostPayload)
		a, err := f.sources.ask(f.ctx, f.process, message{kind: askRead, file: f.number, at: uint64(at), size: uint32(n)})
		if err == nil && int64(len(a.payload)) != n {
			err = errGarbled
		}
		if err != nil {
			return done, f.sources.worded(f.ctx, f.at, err)
		}
		done += copy(p[done:], a.payload)
	}
	return done, nil
}

// Close lets go of the file.
func (f *file) Close() error {
	f.close.Do(func() { _, _ = f.sources.ask(context.Background(), f.process, message{kind: askClose, file: f.number}) })
	return nil
}

// running is the executable as it runs.
type running struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	said  *tail
	ended chan struct{} // closed when it answers no more
	why   error         // then
	exit  error         // how it ended

	mu      sync.Mutex // of writing, and of what follows
	next    uint32
	waiting map[uint32]chan message
}

// start starts the executable, once.
func (s *Sources) start() (*running, error) {
	s.starting.Lock()
	defer s.starting.Unlock()
	switch {
	case s.closed:
		return nil, errors.New("it was ended")
	case s.running != nil:
		return s.running, nil
	}
	path, err := Find()
	if err != nil {
		return nil, fmt.Errorf("%s, which reads addresses, is neither beside modelpatch nor on PATH (go install github.com/modelpatch/modelpatch/cmd/...)", Name)
	}
	p := &running{cmd: exec.Command(path), said: &tail{}, ended: make(chan struct{}), waiting: map[uint32]chan message{}}
	p.cmd.Stderr = p.said
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s could not be run: %w", Name, err)
	}
	go p.listen(bufio.NewReaderSize(out, 1<<16))
	hello, err := json.Marshal(s.options)
	if err == nil {
		s.running = p
		_, err = s.ask(context.Background(), p, message{kind: askHello, payload: hello})
	}
	if err != nil {
		s.running = nil
		p.end()
		return nil, err
	}
	return p, nil
}

// listen hands answers on to who waits for them, until there are no more.
func (p *running) listen(out io.Reader) {
	var err error
	for {
		var m message
		if m, err = readMessage(out); err != nil {
			break
		}
		p.mu.Lock()
		to := p.waiting[m.number]
		delete(p.waiting, m.number)
		p.mu.Unlock()
		if to != nil {
			to <- m
		}
	}
	if errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s ended without an answer", Name)
	} else {
		p.cmd.Process.Kill() // it does not speak as it should
	}
	p.why, p.exit = err, p.cmd.Wait() // what it said is there then
	close(p.ended)
}

// ask sends a message and waits for its answer.
func (s *Sources) ask(ctx context.Context, p *running, m message) (message, error) {
	answer := make(chan message, 1)
	p.mu.Lock()
	p.next++
	m.number = p.next
	p.waiting[m.number] = answer
	_, err := p.in.Write(m.bytes())
	p.mu.Unlock()
	if err == nil {
		select {
		case a := <-answer:
			return s.answered(a)
		case <-ctx.Done():
			return message{}, ctx.Err()
		case <-p.ended:
		}
	}
	<-p.ended // it reads no more, so it ends
	err = p.why
	if said := p.said.last(); said != "" {
		err = fmt.Errorf("%w; it said last: %s", err, said)
	}
	return message{}, err
}

// answered notes what an answer tells beside its content, and makes its failure an error.
func (s *Sources) answered(a message) (message, error) {
	if a.requests > 0 {
		s.requests.Store(int64(a.requests))
		s.bytes.Store(int64(a.used))
		if s.tell != nil {
			s.tell(int64(a.requests), int64(a.used))
		}
	}
	if a.kind != answerFailure {
		return a, nil
	}
	f := new(Failure)
	if err := json.Unmarshal(a.payload, f); err != nil {
		return a, errGarbled
	}
	f.Text = report.Printable(f.Text)
	return a, f
}

// end closes the executable's input, which ends it, and waits for it.
func (p *running) end() error {
	err := p.in.Close()
	<-p.ended
	return errors.Join(err, p.exit)
}

// tail keeps the end of what the executable says.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps the end of p.
func (t *tail) Write(p []byte) (int, error) {
	const most = 4 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(0, len(t.text)-most):]
	return len(p), nil
}

// last is the last line; "" where there is none.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.text))
	return report.Printable(text[strings.LastIndex(text, "\n")+1:])
}
