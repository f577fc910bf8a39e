package main

import (
	"errors"
	"io"
	"io/fs"

	"github.com/modelpatch/modelpatch"
)

// stdout is standard output. Write always reports success and err keeps the
// first failure, so that code between (cobra, text/template) neither stops nor
// complains in its own words; execute turns err into exit code 5.
//
// A pipe whose reader went away (| head -1) is no such failure: the process dies
// of SIGPIPE before Write returns, silently, as cat and grep do, even where the
// parent ignored that signal (package os/signal).
//
// One loss cannot be seen: with standard output closed (>&-), Go's runtime opens
// /dev/null in its place before main, and nothing tells that from a caller who
// opened /dev/null for reading and writing, as Python and Node do.
type stdout struct {
	w   io.Writer
	err error
}

// Write writes unless an earlier write failed, and always reports success.
func (s *stdout) Write(p []byte) (int, error) {
	if s.err == nil {
		_, s.err = s.w.Write(p)
	}
	return len(p), nil
}

// lost reports a failed write to standard output and returns the exit code: 5,
// or the command's own where that is greater.
func (c *console) lost(code int) int {
	err := c.out.err
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = errors.New(p.Op + ": " + p.Err.Error())
	}
	c.say("modelpatch: standard output: the report is lost: %s", oneLine(err.Error()))
	if c.changed {
		c.say("hint: the change itself was made; do not run the command again for it")
	}
	return max(code, modelpatch.ExitOutput)
}
