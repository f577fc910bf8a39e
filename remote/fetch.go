package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// target is where the bytes of a file are asked for.
type target struct {
	url    *url.URL
	header http.Header // for the origin of url alone
	size   int64       // that a manifest states; −1: not stated
	// immutable tells that the address is a digest: the file cannot change.
	immutable bool
	// renewable tells that a login ends, and that another can be had.
	renewable bool
	// what words an answer that is no content; nil: the usual words.
	what func(*http.Response) *Error

	pinned   string // ETag that a version had
	pinnedAt *url.URL
}

// source gives the target of a file; renew: the server refused what it gave before.
type source func(ctx context.Context, renew bool) (target, error)

// version is what tells that answers are of one version of a file.
type version struct {
	etag, modified string
	from           *url.URL
}

func (v version) named() bool { return v.etag != "" || v.modified != "" }

// strong reports whether If-Match may name the version (RFC 9110 §8.8.1).
func (v version) strong() bool { return strings.HasPrefix(v.etag, `"`) }

// differs says in what an answer is of another version. Weak and strong ETags are compared as
// weak ones are: bytes of a range are compared with nothing.
func (v version) differs(h http.Header) string {
	weak := func(etag string) string { return strings.TrimPrefix(etag, "W/") }
	etag, modified := h.Get("ETag"), h.Get("Last-Modified")
	switch {
	case v.etag != "" && etag != "" && weak(v.etag) != weak(etag):
		return "its ETag is another one now"
	case v.etag != "" && etag != "":
	case v.modified != "" && modified != "" && v.modified != modified:
		return "its Last-Modified is another one now"
	case v.named() && (v.modified == "" || modified == ""):
		return "the server does not tell any more which version it sends"
	}
	return ""
}

// wholeBytes bounds a file that is taken whole from a server that sends no ranges.
const wholeBytes = 8 << 20

// fetch returns the bytes [start, end) of the file, fewer at its end, in as many attempts as it
// takes.
func (f *content) fetch(start, end int64) ([]byte, error) {
	c := f.client
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-c.ctx.Done():
		return nil, ended(c.ctx)
	}
	if err := c.grant(end - start); err != nil {
		return nil, err
	}
	var got []byte
	defer func() { c.giveBack(end - start - int64(len(got))) }()
	renewed := false
	for attempt := 1; ; attempt++ {
		a := answer{file: f, start: start + int64(len(got)), end: end}
		began := time.Now()
		err := a.take(renewed)
		c.spent.Add(int64(time.Since(began)))
		got = append(got, a.data...)
		switch {
		case err == nil && (a.whole || start+int64(len(got)) >= min(end, f.size)):
			return got, nil
		case err == nil:
			err = &Error{What: cannotRead, Why: "the server sends less than is asked for", retry: true}
		case a.expired && !renewed:
			renewed = true // the source is asked again, which is no attempt
			f.mu.Lock()
			f.signed = nil
			f.mu.Unlock()
			attempt--
			continue
		}
		if err := c.again(err, attempt, a.wait); err != nil {
			return nil, err
		}
	}
}

// again waits before a further attempt, for as long as the server asks, or returns the error where
// there is none to make.
func (c *Client) again(err error, attempt int, wait time.Duration) error {
	e := *failure(err)
	switch {
	case c.ctx.Err() != nil:
		return ended(c.ctx)
	case e.retry && wait > c.options.Longest:
		e.Why += fmt.Sprintf(", and asks to wait for %s", wait.Round(time.Second))
		return &e
	case e.retry && attempt < c.options.Attempts:
		pause := c.options.Pause << (attempt - 1)
		pause += time.Duration(rand.Int64N(int64(pause)/2 + 1)) // so that many clients do not come at once
		select {
		case <-time.After(max(pause, wait)):
			return nil
		case <-c.ctx.Done():
			return ended(c.ctx)
		}
	case e.retry && attempt > 1:
		e.Why += fmt.Sprintf(" (%d attempts)", attempt)
	}
	return &e
}

// ended is the error of reading whose context ended.
func ended(ctx context.Context) error {
	return &Error{What: cannotRead, Why: "the time was up, or the command was interrupted", err: ctx.Err()}
}

// answer is one request for a range, and what came of it.
type answer struct {
	file       *content
	start, end int64

	data    []byte
	whole   bool          // data is the whole file
	expired bool          // the address that the source redirected to is not good any more
	wait    time.Duration // that the server asks for
}

// take asks for the range. What came before an error stays in data.
func (a *answer) take(renew bool) error {
	f, c := a.file, a.file.client
	ctx, cancel := context.WithCancelCause(c.ctx)
	defer cancel(nil)
	t, err := f.source(ctx, renew)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.immutable = t.immutable
	if known := max(t.size, f.limit); known > a.start {
		a.end = min(a.end, known) // there are servers that have no range that ends behind the file's end
	}
	at, v, size := t.url, f.version, f.size
	redirected := f.signed != nil
	if redirected {
		at = f.signed
	}
	f.mu.Unlock()
	header := http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", a.start, a.end-1)}}
	if v.strong() {
		t.pinned, t.pinnedAt = v.etag, v.from
		header["If-Match"] = []string{v.etag}
	}
	watch := time.AfterFunc(2*c.options.Stall, func() { cancel(errStalled) })
	defer watch.Stop()
	budget := time.AfterFunc(c.left(), func() { cancel(errSlow) })
	defer budget.Stop()
	resp, from, err := c.ask(ctx, t, at, header)
	if err != nil {
		return c.stalled(ctx, err)
	}
	defer resp.Body.Close()
	watch.Reset(c.options.Stall)
	if encoding := resp.Header.Get("Content-Encoding"); resp.StatusCode < 300 && encoding != "" && encoding != "identity" {
		return &Error{What: cannotRead, Why: fmt.Sprintf("the server compresses it (%.20q): ranges would be of other bytes", encoding)}
	}
	switch resp.StatusCode {
	case http.StatusPartialContent:
		err = a.ranged(resp, size, t.size)
	case http.StatusOK:
		err = a.unranged(resp, size)
	case http.StatusRequestedRangeNotSatisfiable:
		return a.beyond(resp, size)
	case http.StatusPreconditionFailed:
		return &Error{What: changed, Why: "the server has another version now", Hint: "run the command again"}
	default:
		return a.refused(resp, t, redirected || from != t.url)
	}
	if err != nil {
		return err
	}
	if err := a.pin(resp, from, t); err != nil {
		return err
	}
	return c.stalled(ctx, a.read(resp.Body, func() { watch.Reset(c.options.Stall) }))
}

var errStalled, errSlow = errors.New("stalled"), errors.New("slow")

// stalled words an error of a request that was given up.
func (c *Client) stalled(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case err == nil:
	case errors.Is(cause, errStalled):
		return &Error{What: cannotRead, Why: silent, retry: true}
	case errors.Is(cause, errSlow):
		return &Error{What: cannotRead, Hint: "download the file first",
			Why: fmt.Sprintf("servers took too long: %s are allowed, and %s for each request and each %d KiB that came", c.options.Patience, perRequest, usualRate>>10)}
	}
	return err
}

// What a usual server takes, and more: one that sends just enough not to be silent would keep a command for days.
const (
	perRequest = time.Second
	usualRate  = 64 << 10 // bytes in that time
)

// left is what is left of the time that requests may take.
func (c *Client) left() time.Duration {
	requests, bytes := c.Used()
	allowed := c.options.Patience + time.Duration(requests+bytes/usualRate)*perRequest
	return allowed - time.Duration(c.spent.Load())
}

// ranged holds the answer's claims against the request and the file's size.
func (a *answer) ranged(resp *http.Response, size, stated int64) error {
	bad := func(why string) error { return &Error{What: cannotRead, Why: why} }
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "multipart/") {
		return bad("the server sent several ranges where one was asked for")
	}
	first, last, total, ok := contentRange(resp.Header.Get("Content-Range"))
	switch {
	case !ok:
		return bad("the server does not say which range it sends, or how large the file is")
	case first != a.start || last < first || last >= min(a.end, total):
		return bad(fmt.Sprintf("the server sent bytes %d to %d of %d; %d to %d were asked for", first, last, total, a.start, a.end-1))
	case size >= 0 && total != size:
		return &Error{What: changed, Why: fmt.Sprintf("it had %d bytes and has %d now", size, total), Hint: "run the command again"}
	case stated >= 0 && total != stated:
		return bad(fmt.Sprintf("the server says %d bytes, its manifest %d", total, stated))
	case resp.ContentLength >= 0 && resp.ContentLength != last-first+1:
		return bad(fmt.Sprintf("the server sends %d bytes as %d to %d", resp.ContentLength, first, last))
	}
	a.end = last + 1
	if size < 0 {
		a.file.size = total
	}
	return nil
}

// contentRange reads "bytes FIRST-LAST/TOTAL" (RFC 9110 §14.4).
func contentRange(s string) (first, last, total int64, ok bool) {
	s, ok = strings.CutPrefix(s, "bytes ")
	span, all, ok1 := strings.Cut(s, "/")
	a, b, ok2 := strings.Cut(span, "-")
	number := func(s string) int64 {
		n, err := strconv.ParseUint(s, 10, 62)
		ok = ok && err == nil
		return int64(n)
	}
	first, last, total = number(a), number(b), number(all)
	return first, last, total, ok && ok1 && ok2
}

// unranged takes a small file whole from a server that sends no ranges.
func (a *answer) unranged(resp *http.Response, size int64) error {
	n := resp.ContentLength
	switch {
	case n < 0 || n > wholeBytes:
		how := "a file of unknown size"
		if n >= 0 {
			how = fmt.Sprintf("all %d bytes", n)
		}
		return &Error{What: cannotRead, Why: "the server sends no ranges: it would send " + how, Hint: "download the file first"}
	case size >= 0 && n != size:
		return &Error{What: changed, Why: fmt.Sprintf("it had %d bytes and has %d now", size, n), Hint: "run the command again"}
	case size >= 0:
		return &Error{What: cannotRead, Why: "the server sent ranges before and now sends the whole file", retry: true}
	}
	if more := n - (a.end - a.start); more > 0 { // than the range that was granted; fetch gives it back as bytes that came
		if err := a.file.client.grant(more); err != nil {
			return err
		}
		a.file.client.giveBack(more)
	}
	a.whole, a.start, a.end = true, 0, n
	a.file.size = n
	return nil
}

// beyond tells an empty file, which has no ranges, from one that became shorter.
func (a *answer) beyond(resp *http.Response, size int64) error {
	total, ok := strings.CutPrefix(resp.Header.Get("Content-Range"), "bytes */")
	if ok && total == "0" && size < 0 {
		a.file.size, a.file.whole, a.whole = 0, []byte{}, true
		return nil
	}
	if n, err := strconv.ParseInt(total, 10, 62); ok && err == nil && n > 0 && size < 0 && a.file.limit == 0 {
		a.file.limit = n
		return &Error{What: cannotRead, Why: "the server has no range that ends behind its end", retry: true}
	}
	if size >= 0 {
		return &Error{What: changed, Why: "the range that was asked for is beyond its end now", Hint: "run the command again"}
	}
	return &Error{What: cannotRead, Why: "the server has no range of it"}
}

// refused words an answer that is no content.
func (a *answer) refused(resp *http.Response, t target, redirected bool) error {
	code := resp.StatusCode
	if t.what != nil && !redirected {
		if e := t.what(resp); e != nil {
			return e
		}
	}
	e := &Error{What: cannotRead, Why: fmt.Sprintf("the server answers %d %s", code, http.StatusText(code))}
	switch {
	case code == http.StatusRequestTimeout || code == http.StatusTooEarly || code == http.StatusTooManyRequests || code >= 500 && code != http.StatusNotImplemented:
		e.retry = true
		a.wait = retryAfter(resp.Header.Get("Retry-After"))
	case redirected:
		a.expired, e.Missing = true, code == http.StatusNotFound
		e.Why += " at the address that it redirected to"
	case code == http.StatusUnauthorized && t.renewable:
		a.expired = true
	case code == http.StatusUnauthorized && t.url.RawQuery == "" && t.header == nil:
		e.Hint = "it wants a login: a presigned address needs none"
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		if t.url.RawQuery != "" {
			e.Hint = "the signature in the address may have expired, or be for another file"
		}
	case code == http.StatusNotFound || code == http.StatusGone:
		e.Missing = true
	}
	return e
}

// retryAfter reads seconds, or a date (RFC 9110 §10.2.3).
func retryAfter(s string) time.Duration {
	if n, err := strconv.ParseUint(s, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// pin holds the answer against the version that was read so far, or makes it that.
func (a *answer) pin(resp *http.Response, from *url.URL, t target) error {
	f := a.file
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.version.named() {
		f.version = version{resp.Header.Get("ETag"), resp.Header.Get("Last-Modified"), from}
	} else if why := f.version.differs(resp.Header); why != "" {
		return &Error{What: changed, Why: why, Hint: "run the command again"}
	}
	if from != t.url {
		f.signed = from
	}
	return nil
}

// leastRate is how many bytes a second must come: a server that sends one a minute would keep a
// command for ever.
const leastRate = 4 << 10

// read reads what the answer promised.
func (a *answer) read(body io.Reader, alive func()) error {
	want := a.end - a.start
	deadline := time.Now().Add(a.file.client.options.Stall + time.Duration(want/leastRate)*time.Second)
	var buffer [32 << 10]byte
	for int64(len(a.data)) < want {
		n, err := body.Read(buffer[:min(int64(len(buffer)), want-int64(len(a.data)))])
		a.data = append(a.data, buffer[:n]...)
		a.file.client.count(0, int64(n))
		alive()
		switch {
		case int64(len(a.data)) == want:
		case err != nil:
			return err
		case time.Now().After(deadline):
			return &Error{What: cannotRead, Why: fmt.Sprintf("the server sends less than %d bytes a second", leastRate), retry: true}
		}
	}
	if a.whole {
		a.file.whole = a.data
	}
	return nil
}
