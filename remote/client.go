package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelpatch/modelpatch/remote/address"
	"github.com/modelpatch/modelpatch/report"
)

// Defaults of Options.
const (
	DefaultMaxBytes = 1 << 30
	DefaultStall    = 30 * time.Second
	DefaultAttempts = 5
	DefaultPause    = 250 * time.Millisecond
	DefaultLongest  = time.Minute
	DefaultPatience = 5 * time.Minute
)

// parallel bounds requests at a time.
const parallel = 8

// Options say how servers are read. The zero value is right for public ones.
type Options struct {
	// Offline refuses every address.
	Offline bool
	// MaxBytes bounds what is fetched, of all files together; 0 is DefaultMaxBytes, less is
	// no bound.
	MaxBytes int64
	// AllowPrivate allows servers in private networks and on this machine, and http://.
	AllowPrivate bool
	// Stall is how long a server may be silent; 0 is DefaultStall.
	Stall time.Duration
	// Attempts is how often a range is asked for; 0 is DefaultAttempts.
	Attempts int
	// Pause is the time before the second attempt, doubled before each further one; 0 is
	// DefaultPause. Longest bounds what a server may ask to wait; 0 is DefaultLongest.
	Pause, Longest time.Duration
	// Patience is the time that all requests together may take beside what usual servers need for
	// them; 0 is DefaultPatience.
	Patience time.Duration
	// Tell is told of requests and bytes so far, of all files; it may be called by several
	// goroutines.
	Tell func(requests, bytes int64)
	// TLS is the configuration of connections; nil: Go's, with the system's authorities.
	TLS *tls.Config
	// Environment gives environment variables; nil: os.Getenv.
	Environment func(string) string
	// trusted, for tests, allows a private address.
	trusted func(netip.AddrPort) bool
	// Agent is what the client calls itself; "": modelpatch.
	Agent string
}

// Client reads files from servers. It may be used by several goroutines.
type Client struct {
	ctx               context.Context
	options           Options
	straight, proxied *http.Transport
	slots             chan struct{} // taken by requests that are under way
	requests, bytes   atomic.Int64
	spent             atomic.Int64 // time.Duration that requests took
	granted           atomic.Int64 // bytes that came or are under way: what MaxBytes bounds

	mu    sync.Mutex
	files map[string]*content // by address, in use or lately used
	idle  []*content          // lately used, the oldest first
	gone  map[string]error    // addresses where the server has no file
	hub   *hubLogin
	oci   map[string]string // Authorization by registry and repository
}

// New makes a client whose reading ends with a context.
func New(ctx context.Context, o Options) *Client {
	orDefault := func(d *time.Duration, otherwise time.Duration) {
		if *d <= 0 {
			*d = otherwise
		}
	}
	orDefault(&o.Stall, DefaultStall)
	orDefault(&o.Pause, DefaultPause)
	orDefault(&o.Longest, DefaultLongest)
	orDefault(&o.Patience, DefaultPatience)
	if o.Attempts <= 0 {
		o.Attempts = DefaultAttempts
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Environment == nil {
		o.Environment = os.Getenv
	}
	if o.Agent == "" {
		o.Agent = "modelpatch"
	}
	c := &Client{ctx: ctx, options: o, slots: make(chan struct{}, parallel), files: map[string]*content{}, gone: map[string]error{}, oci: map[string]string{}}
	c.straight, c.proxied = transports(o)
	return c
}

// Close lets go of connections. Files must not be read afterwards.
func (c *Client) Close() error {
	c.straight.CloseIdleConnections()
	c.proxied.CloseIdleConnections()
	return nil
}

// Used tells how many requests were made so far, and how many bytes of files came.
func (c *Client) Used() (requests, bytes int64) { return c.requests.Load(), c.bytes.Load() }

// Reader opens the file at an address as modelpatch.OpenOptions.Remote wants it. The reader is
// an io.Closer.
func (c *Client) Reader(ctx context.Context, at string) (io.ReaderAt, int64, error) {
	f, err := c.Open(ctx, at)
	if err != nil {
		return nil, 0, err
	}
	return f, f.Size(), nil
}

// keptIdle is how many files keep what was read of them after they were closed: verbs open a
// model more than once.
const keptIdle = 4

// Open opens the file at an address, by a request for its first bytes. A file that is open
// already is not asked for again. The error of one that is not there is fs.ErrNotExist.
func (c *Client) Open(ctx context.Context, at string) (*File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.options.Offline {
		return nil, &Error{Address: address.Show(at), What: refused, Why: "addresses are not read offline", Hint: "name a file on this machine"}
	}
	c.mu.Lock()
	gone := c.gone[at]
	c.mu.Unlock()
	if gone != nil {
		return nil, gone
	}
	f := c.shared(at)
	f.opening.Lock()
	defer f.opening.Unlock()
	if f.opened {
		return &File{content: f}, nil
	}
	if err := f.open(); err != nil {
		err = f.named(err)
		c.forget(f, err)
		return nil, err
	}
	f.opened = true
	return &File{content: f}, nil
}

// shared is the file at an address, which may be open already.
func (c *Client) shared(at string) *content {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.files[at]
	if f == nil {
		f = newFile(c, at)
		c.files[at] = f
	}
	for i, x := range c.idle {
		if x == f {
			c.idle = append(c.idle[:i:i], c.idle[i+1:]...)
			break
		}
	}
	f.users++
	return f
}

// release lets go of a file; what was read of the last few is kept.
func (c *Client) release(f *content) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.users--; f.users > 0 || c.files[f.at] != f {
		return
	}
	c.idle = append(c.idle, f)
	if len(c.idle) > keptIdle {
		delete(c.files, c.idle[0].at)
		c.idle = c.idle[1:]
	}
}

// keptGone bounds the addresses of missing files that are remembered: those beside a model are asked
// for more than once.
const keptGone = 256

// forget drops a file that could not be opened.
func (c *Client) forget(f *content, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if errors.Is(err, fs.ErrNotExist) {
		if len(c.gone) == keptGone {
			clear(c.gone)
		}
		c.gone[f.at] = err
	}
	if c.files[f.at] == f {
		delete(c.files, f.at)
	}
}

// grant allows a request for n bytes, or refuses what would exceed the limit. What did not come of them is given back
// by giveBack.
func (c *Client) grant(n int64) error {
	if most := c.options.MaxBytes; c.granted.Add(n) > most && most > 0 {
		c.giveBack(n)
		return &Error{What: refused, Why: fmt.Sprintf("more than %d bytes would be fetched", most),
			Remedies: []report.Remedy{report.Do("", "allows more", "max-bytes", "N")}}
	}
	return nil
}

func (c *Client) giveBack(n int64) { c.granted.Add(-n) }

// count notes bytes that came, and tells.
func (c *Client) count(requests, bytes int64) {
	r, b := c.requests.Add(requests), c.bytes.Add(bytes)
	if c.options.Tell != nil {
		c.options.Tell(r, b)
	}
}

// mostHops bounds a chain of redirects.
const mostHops = 8

// ask sends a GET to a target and follows its redirects: the target's own headers, the token
// among them, go to its origin alone. It returns the answer and where it came from.
func (c *Client) ask(ctx context.Context, t target, from *url.URL, header http.Header) (*http.Response, *url.URL, error) {
	at := from
	for range mostHops {
		if err := c.allowed(at); err != nil {
			return nil, nil, err
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
		if err != nil {
			return nil, nil, failure(err)
		}
		for k, v := range header {
			r.Header[k] = v
		}
		r.Header.Set("User-Agent", c.options.Agent)
		r.Header.Set("Accept-Encoding", "identity")
		if sameOrigin(at, t.url) {
			for k, v := range t.header {
				r.Header[k] = v
			}
		}
		if t.pinned != "" && !sameOrigin(at, t.pinnedAt) {
			r.Header.Del("If-Match") // it speaks of what another server sent
		}
		way, err := c.way(r)
		if err != nil {
			return nil, nil, err
		}
		c.count(1, 0)
		resp, err := way.RoundTrip(r)
		if err != nil {
			return nil, nil, failure(err)
		}
		switch resp.StatusCode {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		default:
			return resp, at, nil
		}
		drop(resp)
		next, err := at.Parse(resp.Header.Get("Location"))
		switch {
		case err != nil || resp.Header.Get("Location") == "":
			return nil, nil, &Error{What: cannotRead, Why: "it redirects to nowhere"}
		case next.Host == "":
			return nil, nil, &Error{What: cannotRead, Why: "it redirects to an address without a server"}
		case at.Scheme == "https" && next.Scheme == "http":
			return nil, nil, &Error{What: refused, Why: fmt.Sprintf("it redirects to http://%s, which is not encrypted", next.Host)}
		}
		next.User, next.Fragment = nil, ""
		at = next
	}
	return nil, nil, &Error{What: cannotRead, Why: fmt.Sprintf("it redirects more than %d times", mostHops)}
}

// drop reads what is left of a short answer, so that its connection can be used again.
func drop(resp *http.Response) {
	io.CopyN(io.Discard, resp.Body, 4<<10)
	resp.Body.Close()
}

// sameOrigin reports whether two URLs are of one server: scheme, name and port (RFC 6454).
func sameOrigin(a, b *url.URL) bool {
	port := func(u *url.URL) string {
		switch {
		case u.Port() != "":
			return u.Port()
		case u.Scheme == "https":
			return "443"
		}
		return "80"
	}
	return a != nil && b != nil && a.Scheme == b.Scheme && a.Hostname() == b.Hostname() && port(a) == port(b)
}
