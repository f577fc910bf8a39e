package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	// patience is how long a run may take before progress is shown.
	patience = time.Second
	// refresh is how often it is shown anew.
	refresh = 100 * time.Millisecond
	// progressColumns is what a line of progress takes, where there are as many.
	progressColumns = 40
)

// progress is a line on standard error, if that is a terminal, for runs that
// take their time. It is text that is written over: the libraries that draw bars
// cost more at every start of the process than this costs to read
// (docs/decisions/0004).
type progress struct {
	to      io.Writer // nil: nowhere
	columns int       // of a line
	next    time.Time // when to show it again
	on      bool      // there is a line

	mu sync.Mutex // of fetched, which several goroutines call
}

func newProgress(c *console) *progress {
	p := &progress{columns: progressColumns, next: time.Now().Add(patience)}
	if f, ok := c.err.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		p.to = f
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 1 {
			p.columns = min(p.columns, w-1) // a full line would wrap
		}
	}
	return p
}

// tell is told of bytes done, of how many.
func (p *progress) tell(done, total int64) {
	now := time.Now()
	if p.to == nil || now.Before(p.next) && (done < total || !p.on) {
		return
	}
	p.next = now.Add(refresh)
	if done >= total { // the sync takes longest
		p.show("waiting for the disk")
		return
	}
	p.show(fmt.Sprintf("writing: %.0f%%, %s of %s", 100*float64(done)/float64(total), bytesText(done), bytesText(total)))
}

// compared is told of bytes compared, of how many.
func (p *progress) compared(done, total int64) {
	now := time.Now()
	if p.to == nil || now.Before(p.next) {
		return
	}
	p.next = now.Add(refresh)
	p.show(fmt.Sprintf("comparing: %.0f%%, %s of %s", 100*float64(done)/float64(total), bytesText(done), bytesText(total)))
}

// fetched is told of requests to servers and bytes that came.
func (p *progress) fetched(requests, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.to == nil || now.Before(p.next) {
		return
	}
	p.next = now.Add(refresh)
	p.show(fmt.Sprintf("fetching: %s, %s", plural(int(requests), "request"), bytesText(bytes)))
}

// show writes a line over the one before.
func (p *progress) show(line string) {
	p.on = true
	fmt.Fprintf(p.to, "\r%-*.*s", p.columns, p.columns, line)
}

// end takes the line off the screen.
func (p *progress) end() {
	if p.on {
		fmt.Fprintf(p.to, "\r%s\r", strings.Repeat(" ", p.columns))
	}
}
