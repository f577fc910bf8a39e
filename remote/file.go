package remote

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"sync"

	"github.com/modelpatch/modelpatch/remote/address"
)

// keptPages bounds what is kept of a file: 32 MiB.
const keptPages = 2048

// File is a file on a server, of the version that it had when it was opened. It may be used by
// several goroutines.
type File struct {
	content *content
	close   sync.Once
}

// Size is the number of bytes that the server says the file has.
func (f *File) Size() int64 { return f.content.size }

// Pinned reports whether the server names the version that it sends, by ETag or Last-Modified.
// Where it does not, a change of the file during reading shows in its size alone.
func (f *File) Pinned() bool {
	return f.content.whole != nil || f.content.immutable || f.content.version.named()
}

// Version is the file's ETag; "" where the server tells none.
func (f *File) Version() string { return f.content.version.etag }

// ReadAt reads bytes of the file, io.EOF at its end. Errors are [*Error].
func (f *File) ReadAt(p []byte, off int64) (int, error) { return f.content.readAt(p, off) }

// Close lets go of the file.
func (f *File) Close() error {
	f.close.Do(func() { f.content.client.release(f.content) })
	return nil
}

// content is what is known of a file, for all who have it open.
type content struct {
	client *Client
	at     string // the address, with its secrets

	opening sync.Mutex // held while it is opened
	opened  bool
	users   int // in the client's care

	mu     sync.Mutex
	source source
	size   int64 // −1: not known yet
	limit  int64 // the size that a refused range was told; 0: none
	// immutable: it is named by its digest
	immutable bool
	version   version
	signed    *url.URL // where the source redirected to
	whole     []byte   // of a small file whose server sends no ranges; nil: it does
	pages     map[int64]*page
	clock     int64
	ahead     ahead
}

// page is a part of a file that was fetched, or is being.
type page struct {
	done chan struct{} // closed when data and err are there
	data []byte
	err  error
	used int64 // when, by the file's clock
}

func newFile(c *Client, at string) *content {
	return &content{client: c, at: at, size: -1, pages: map[int64]*page{}}
}

// open asks for the file's first bytes.
func (f *content) open() error {
	parsed, err := address.Parse(f.at)
	if err != nil {
		return err
	}
	if f.source, err = f.client.sourceOf(parsed); err != nil {
		return err
	}
	data, err := f.fetch(0, firstBytes)
	if err != nil {
		return err
	}
	for at := 0; at < len(data); at += pageBytes {
		p := &page{done: make(chan struct{}), data: data[at:min(at+pageBytes, len(data))]}
		close(p.done)
		f.pages[int64(at/pageBytes)] = p
	}
	return nil
}

// readAt is File.ReadAt.
func (f *content) readAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("offset %d", off)
	}
	if f.whole != nil {
		return bytes.NewReader(f.whole).ReadAt(p, off)
	}
	done := 0
	for done < len(p) {
		at := off + int64(done)
		if at >= f.size {
			return done, io.EOF
		}
		n := min(int64(len(p)-done), f.size-at, mostBytes)
		got, err := f.readSome(p[done:done+int(n)], at)
		done += got
		if err != nil {
			return done, f.named(err)
		}
	}
	return done, nil
}

// named adds the address to an error that does not know it.
func (f *content) named(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Address != "" {
		return err
	}
	named := *e
	named.Address = address.Show(f.at)
	return &named
}

// readSome reads at most mostBytes inside the file.
func (f *content) readSome(p []byte, off int64) (int, error) {
	wanted := f.require(off, off+int64(len(p)))
	done := 0
	for _, page := range wanted {
		<-page.done
		if page.err != nil {
			return done, page.err
		}
		from := (off + int64(done)) % pageBytes
		if from >= int64(len(page.data)) {
			return done, &Error{What: cannotRead, Why: "the server sent less than it said"}
		}
		done += copy(p[done:], page.data[from:])
	}
	return done, nil
}

// require has the pages of [off, end) fetched, and those that are guessed to come next, and
// returns the former.
func (f *content) require(off, end int64) []*page {
	f.mu.Lock()
	defer f.mu.Unlock()
	want, guesses := f.ahead.read(off, end)
	first, last := off/pageBytes, (end-1)/pageBytes
	for i := first; i <= last; i++ { // those that are there are not what makes room for the others
		if p := f.pages[i]; p != nil {
			f.clock++
			p.used = f.clock
		}
	}
	var wanted []*page // a page that is dropped from the file's is still there for who has it
	for i := first; i <= last; i++ {
		if p := f.pages[i]; p != nil {
			wanted = append(wanted, p)
			continue
		}
		run := i // the pages to fetch end where some are there
		for until := max(last, i+(want+pageBytes-1)/pageBytes-1); run <= until && run-i < mostBytes/pageBytes && run*pageBytes < f.size && f.pages[run] == nil; run++ {
		}
		f.load(i, run)
		wanted = append(wanted, f.pages[i])
		if len(guesses) == 0 {
			f.ahead.fetched()
		}
	}
	for _, at := range guesses {
		i, run := max(at-strideSlack, 0)/pageBytes, (at+strideSlack)/pageBytes+1
		if at+pageBytes/2 > run*pageBytes {
			run++
		}
		for ; i < run && f.pages[i] != nil; i++ {
		}
		for ; run > i && (f.pages[run-1] != nil || (run-1)*pageBytes >= f.size); run-- {
		}
		if i < run {
			f.load(i, run)
		}
	}
	return wanted
}

// load fetches pages [first, end), none of which is there, while others go on.
func (f *content) load(first, end int64) {
	f.evict(end - first)
	loading := make([]*page, end-first)
	for i := range loading {
		f.clock++
		loading[i] = &page{done: make(chan struct{}), used: f.clock}
		f.pages[first+int64(i)] = loading[i]
	}
	go func() {
		data, err := f.fetch(first*pageBytes, min(end*pageBytes, f.size))
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, p := range loading {
			if from := i * pageBytes; err == nil {
				p.data = bytes.Clone(data[min(from, len(data)):min(from+pageBytes, len(data))])
			} else {
				p.err = err
				if n := first + int64(i); f.pages[n] == p {
					delete(f.pages, n)
				}
			}
			close(p.done)
		}
	}()
}

// evict makes room for n pages, by dropping those that were not used for longest.
func (f *content) evict(n int64) {
	if int64(len(f.pages))+n <= keptPages {
		return
	}
	numbers := make([]int64, 0, len(f.pages))
	for i := range f.pages {
		numbers = append(numbers, i)
	}
	slices.SortFunc(numbers, func(a, b int64) int { return cmp.Compare(f.pages[a].used, f.pages[b].used) })
	for _, i := range numbers[:min(len(numbers), keptPages/4+int(n))] {
		delete(f.pages, i) // who waits for it has it
	}
}
