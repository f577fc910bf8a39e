package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/modelpatch/modelpatch/report"
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
// (docs/decisions/0004). With --progress=json it is an object a line, for programs.
type progress struct {
	to      io.Writer // nil: nowhere
	objects bool      // each a report.Progress
	columns int       // of a line
	next    time.Time // when to show it again
	on      bool      // there is a line

	mu sync.Mutex // of what several goroutines call
}

func newProgress(c *console) *progress {
	if c.progress == progressJSON {
		return &progress{to: c.err, objects: true}
	}
	p := &progress{columns: progressColumns, next: time.Now().Add(patience)}
	if f, ok := c.err.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		p.to = f
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 1 {
			p.columns = min(p.columns, w-1) // a full line would wrap
		}
	}
	return p
}

// What --progress takes.
const (
	progressAuto = "auto"
	progressJSON = "json"
)

// progressFlag adds --progress to a command.
func (c *console) progressFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.progress, "progress", progressAuto, "auto: a line on a terminal; json: objects on standard error (schema progress)")
	takes(cmd, "progress", progressAuto, progressJSON)
}

// wrote is told of bytes written, of how many.
func (p *progress) wrote(done, total int64) { p.bytes("writing", done, total) }

// compared is told of bytes compared, of how many.
func (p *progress) compared(done, total int64) { p.bytes("comparing", done, total) }

// bytes is told of bytes that something was done with, of how many.
func (p *progress) bytes(doing string, done, total int64) {
	now := time.Now()
	if p.to == nil || now.Before(p.next) && (done < total || !p.on) {
		return
	}
	p.next = now.Add(refresh)
	switch {
	case p.objects:
		p.on = true
		line, err := report.Stamped(report.Progress{Schema: report.SchemaProgress, Doing: doing, Done: done, Total: total}, version())
		if err == nil {
			p.to.Write(line)
		}
	case done < total:
		p.show(fmt.Sprintf("%s: %.0f%%, %s of %s", doing, 100*float64(done)/float64(total), bytesText(done), bytesText(total)))
	case doing == "writing": // the sync takes longest
		p.show("waiting for the disk")
	}
}

// fetched is told of requests to servers and bytes that came.
func (p *progress) fetched(requests, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.to == nil || p.objects || now.Before(p.next) {
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
	if p.on && !p.objects {
		fmt.Fprintf(p.to, "\r%s\r", strings.Repeat(" ", p.columns))
		p.on = false
	}
}

// counter shows how many files of a run are done.
type counter struct {
	*progress
	verb        string
	done, total int // total is 0 where nobody knows
	stop        chan struct{}
}

// newCounter begins to show how many files of so many are done.
func newCounter(c *console, verb string, total int) *counter {
	n := &counter{progress: newProgress(c), verb: verb, total: total, stop: make(chan struct{})}
	if n.to == nil {
		return n
	}
	go func() {
		for tick := time.NewTicker(refresh); ; {
			select {
			case <-n.stop:
				tick.Stop()
				return
			case now := <-tick.C:
				n.at(now)
			}
		}
	}()
	return n
}

// at shows the line of a moment.
func (n *counter) at(now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.to == nil || now.Before(n.next) {
		return
	}
	line := plural(n.done, "file") + " " + n.verb
	if n.total > 0 {
		line = fmt.Sprintf("%d of %s %s", n.done, plural(n.total, "file"), n.verb)
	}
	n.show(line)
}

// printing takes the line off the screen while a result is printed, until the returned function
// is called.
func (n *counter) printing() (printed func()) {
	n.mu.Lock()
	n.progress.end()
	return func() {
		n.done++
		n.mu.Unlock()
	}
}

// end takes the line off the screen for good.
func (n *counter) end() {
	close(n.stop)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.progress.end()
	n.to = nil // the ticker may be on its way
}
