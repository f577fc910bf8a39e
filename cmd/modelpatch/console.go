package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/report"
)

// console is where the command speaks. The rules: standard output is what was
// asked for, and nothing else; errors, hints and warnings go to standard
// error. An error is one line "modelpatch: PATH: what: why", advice follows in
// lines "hint: …". Text from a model is escaped, never starts a line, and is cut
// at 120 columns. The first line of an output says in a sentence what was found or
// what changes; names of fields follow. Lines are folded on terminals alone.
type console struct {
	out      *stdout
	err      io.Writer
	color    bool
	progress string // progressAuto or progressJSON
	width    int    // columns of the terminal that standard output is, 0 where it is none
	changed  bool   // a file was written or changed
}

// wantsColor reports whether standard output is a terminal whose user has not
// asked for plain text.
func wantsColor() bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(os.Stdout.Fd()))
}

// terminalWidth is the width of the terminal that standard output is, 0 when it
// is a pipe or a file: nothing is folded there.
func terminalWidth() int {
	fd := int(os.Stdout.Fd())
	if !term.IsTerminal(fd) {
		return 0
	}
	const usual = 80
	w, _, err := term.GetSize(fd)
	if err != nil || w < 2 {
		return usual
	}
	return w
}

// printf writes to standard output.
func (c *console) printf(format string, args ...any) { fmt.Fprintf(c.out, format, args...) }

// say writes a message to standard error.
func (c *console) say(format string, args ...any) { fmt.Fprintf(c.err, format+"\n", args...) }

// json writes one object on one line, with the version of the tool as its last field. One
// that cannot be encoded is as lost as one that cannot be written.
func (c *console) json(v any) {
	line, err := report.Stamped(v, version())
	if err != nil && c.out.err == nil {
		c.out.err = err
	}
	c.out.Write(line)
}

// failed reports an error and returns its exit code.
func (c *console) failed(path string, err error, asJSON bool) error {
	c.fail(path, err, asJSON)
	return &codedError{modelpatch.ExitCode(err)}
}

// fail reports an error: as lines for people, or as an object on standard
// output when JSON was asked for.
func (c *console) fail(path string, err error, asJSON bool) {
	hints, path := advice(err), source.ShownPath(path)
	if asJSON {
		c.json(errorReport(path, err))
	}
	if modelpatch.ExitCode(err) == modelpatch.ExitInterrupted {
		what := "interrupted; nothing was changed"
		if path != "" {
			what = text(path) + ": " + what
		}
		c.say("modelpatch: %s", what)
		return
	}
	c.say("modelpatch: %s", shortened(oneLine(err.Error())))
	for _, h := range hints {
		c.say("hint: %s", oneLine(h))
	}
}

// errorReport is an error as an object.
func errorReport(path string, err error) report.Error {
	hints := advice(err)
	if hints == nil {
		hints = []string{}
	}
	_, remedies := modelpatch.Advice(err)
	return report.Error{Schema: report.SchemaError, Path: report.Name(source.ShownPath(path)), Code: modelpatch.ExitCode(err), Error: report.Name(err.Error()), Hints: hints, Remedies: remedies}
}

// oneLine keeps a message on one line, whatever is in it.
func oneLine(s string) string { return report.Printable(strings.ReplaceAll(s, "\n", " ")) }

// shortened takes the middle out of an error that is too long for a line: the
// file stands at its start, what is wrong at its end.
func shortened(s string) string {
	const most = 900
	if r := []rune(s); len(r) > most {
		return string(r[:most/2]) + "…" + string(r[len(r)-most/2:])
	}
	return s
}

// text makes a model's name fit for a line: escaped, and cut when it is long.
func text(s string) string { return cut(s, 120) }

// mostSentence is several lines of a terminal.
const mostSentence = 600

// sentence is text of a message, which names of a model may stand in.
func sentence(s string) string { return cut(s, mostSentence) }

func cut(s string, most int) string { return clip(report.Printable(s), most) }

// clip leaves out what is longer than so many characters.
func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// bold marks a heading on terminals.
func (c *console) bold(s string) string {
	if !c.color {
		return s
	}
	return "\x1b[1m" + s + "\x1b[0m"
}

// level colours the level of a finding on terminals.
func (c *console) level(level string) string {
	if !c.color {
		return level
	}
	switch level {
	case report.LevelError:
		return "\x1b[31m" + level + "\x1b[0m"
	case report.LevelWarning:
		return "\x1b[33m" + level + "\x1b[0m"
	}
	return level
}
