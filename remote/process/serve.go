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
	"sync"

	"github.com/modelpatch/modelpatch/report"
)

// Client is what Serve has files read by.
type Client interface {
	// Reader opens the file at an address; pinned: the server names the version that it sends.
	Reader(ctx context.Context, at string) (r io.ReaderAt, size int64, pinned bool, err error)
	// Used tells how many requests were made so far, and how many bytes came.
	Used() (requests, bytes int64)
}

// mostBusy bounds requests that are worked on at a time.
const mostBusy = 64

// server is one run of Serve.
type server struct {
	client Client
	out    sync.Mutex
	w      *bufio.Writer

	mu    sync.Mutex
	last  uint32
	files map[uint32]io.ReaderAt
}

// Serve answers requests until there are no more. The first one tells the options, of which connect
// makes the client.
func Serve(ctx context.Context, in io.Reader, out io.Writer, connect func(context.Context, Options) Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := bufio.NewReaderSize(in, 1<<16)
	s := &server{w: bufio.NewWriterSize(out, 1<<16), files: map[uint32]io.ReaderAt{}}
	hello, err := readMessage(r)
	if err != nil {
		return err
	}
	var o Options
	if hello.kind != askHello || json.Unmarshal(hello.payload, &o) != nil || o.Protocol != protocol {
		s.fail(hello, fmt.Errorf("%s is of another release than modelpatch: install both anew", Name))
		return errors.New("of another release")
	}
	s.client = connect(ctx, o)
	s.send(hello, message{kind: answerDone})
	busy := make(chan struct{}, mostBusy)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel() // nobody waits for what is under way
	for {
		m, err := readMessage(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		busy <- struct{}{}
		all.Go(func() {
			defer func() { <-busy }()
			s.answer(ctx, m)
		})
	}
}

// answer answers one request.
func (s *server) answer(ctx context.Context, m message) {
	switch m.kind {
	case askOpen:
		f, size, pinned, err := s.client.Reader(ctx, string(m.payload))
		if err != nil {
			s.fail(m, err)
			return
		}
		s.mu.Lock()
		s.last++
		number := s.last
		s.files[number] = f
		s.mu.Unlock()
		payload := binary.LittleEndian.AppendUint64(nil, uint64(size))
		payload = append(payload, map[bool]byte{true: 1}[pinned])
		if v, ok := f.(interface{ Version() string }); ok {
			payload = append(payload, v.Version()...)
		}
		s.send(m, message{kind: answerDone, file: number, payload: payload})
	case askRead:
		f := s.file(m.file)
		if f == nil {
			s.fail(m, errors.New("no file has that number"))
			return
		}
		b := make([]byte, m.size)
		n, err := f.ReadAt(b, int64(m.at))
		if n < len(b) {
			s.fail(m, err)
			return
		}
		s.send(m, message{kind: answerDone, payload: b})
	case askClose:
		f := s.file(m.file)
		s.mu.Lock()
		delete(s.files, m.file)
		s.mu.Unlock()
		if c, ok := f.(io.Closer); ok {
			c.Close()
		}
		s.send(m, message{kind: answerDone})
	default:
		s.fail(m, fmt.Errorf("a request of kind %d", m.kind))
	}
}

func (s *server) file(number uint32) io.ReaderAt {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[number]
}

// fail answers with an error.
func (s *server) fail(m message, err error) {
	f := Failure{Text: err.Error(), Missing: errors.Is(err, fs.ErrNotExist)}
	var advice interface {
		Advice() (string, []report.Remedy)
	}
	var hints interface{ Hints() []string }
	switch {
	case errors.As(err, &advice):
		f.Hint, f.Remedies = advice.Advice()
	case errors.As(err, &hints):
		for _, h := range hints.Hints() {
			f.Hint = h
		}
	}
	payload, merr := json.Marshal(f)
	if merr != nil {
		payload = []byte(`{"text":"an error that cannot be told"}`)
	}
	s.send(m, message{kind: answerFailure, payload: payload})
}

// send sends an answer.
func (s *server) send(to, m message) {
	m.number = to.number
	if s.client != nil {
		requests, bytes := s.client.Used()
		m.requests, m.used = uint64(requests), uint64(bytes)
	}
	s.out.Lock()
	defer s.out.Unlock()
	s.w.Write(m.bytes()) // who does not read any more gets no more
	s.w.Flush()
}
