// Package engine talks to the executables that verify asks: modelpatch-engine has real
// engines run whole models, modelpatch-crosscheck has foreign code compute an attention.
// A request is one JSON object on standard input, the answer one on standard output.
package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify"
)

// The executables.
const (
	Name = "modelpatch-engine"
	// CrosscheckName is the one that is in no package: what it links has a licence that not everybody can take.
	CrosscheckName = "modelpatch-crosscheck"
)

// Request asks for one thing.
type Request struct {
	Crosscheck *Job  `json:"crosscheck,omitempty"`
	Whole      *Pair `json:"whole,omitempty"`
}

// Answer is its result, or why there is none.
type Answer struct {
	Output [][]report.Number `json:"output,omitempty"`
	Checks []report.Check    `json:"checks,omitempty"` // of Whole
	// Refuses is set where the engine that Whole asks for runs neither file: its words on
	// the file after.
	Refuses string `json:"refuses,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Job is a verify.Case as JSON: infinities are words there.
type Job struct {
	Query       [][]report.Number `json:"query"`
	Key         [][]report.Number `json:"key"`
	Value       [][]report.Number `json:"value"`
	Angles      [][]report.Number `json:"angles,omitempty"`
	Cos         [][]report.Number `json:"cos,omitempty"`
	Sin         [][]report.Number `json:"sin,omitempty"`
	Amplitude   report.Number     `json:"amplitude"`
	First       int               `json:"first"`
	Dim         int               `json:"dim"`
	Interleaved bool              `json:"interleaved"`
	Scale       report.Number     `json:"scale"`
	Softcap     report.Number     `json:"softcap"`
	Sink        []report.Number   `json:"sink,omitempty"`
	Causal      bool              `json:"causal"`
	Slope       report.Number     `json:"slope"`
	Bias        [][]report.Number `json:"bias,omitempty"`
}

// NewJob writes a case as a job.
func NewJob(c verify.Case) *Job {
	return &Job{Query: Numbers(c.Query), Key: Numbers(c.Key), Value: Numbers(c.Value), Angles: Numbers(c.Angles), Cos: Numbers(c.Cos), Sin: Numbers(c.Sin),
		Amplitude: report.Number(c.Amplitude), First: c.First, Dim: c.Dim, Interleaved: c.Interleaved, Scale: report.Number(c.Scale), Softcap: report.Number(c.Softcap),
		Sink: report.Numbers(c.Sink), Causal: c.Causal, Slope: report.Number(c.Slope), Bias: Numbers(c.Bias)}
}

// Case reads a job back.
func (j *Job) Case() verify.Case {
	out := verify.Case{Query: floats(j.Query), Key: floats(j.Key), Value: floats(j.Value), Angles: floats(j.Angles), Cos: floats(j.Cos), Sin: floats(j.Sin),
		Amplitude: float64(j.Amplitude), First: j.First, Dim: j.Dim, Interleaved: j.Interleaved, Scale: float64(j.Scale), Softcap: float64(j.Softcap),
		Causal: j.Causal, Slope: float64(j.Slope), Bias: floats(j.Bias)}
	if len(j.Sink) > 0 {
		out.Sink = floats([][]report.Number{j.Sink})[0]
	}
	return out
}

// Numbers writes rows of numbers for JSON.
func Numbers(rows [][]float64) [][]report.Number {
	var out [][]report.Number
	for _, row := range rows {
		out = append(out, report.Numbers(row))
	}
	return out
}

// floats reads rows of numbers.
func floats(rows [][]report.Number) [][]float64 {
	var out [][]float64
	for _, row := range rows {
		line := make([]float64, len(row))
		for i, x := range row {
			line[i] = float64(x)
		}
		out = append(out, line)
	}
	return out
}

// Find returns modelpatch-engine: beside this executable, or on PATH.
func Find() (string, error) { return find(Name, "cmd/...") }

// FindCrosscheck is Find of modelpatch-crosscheck.
func FindCrosscheck() (string, error) { return find(CrosscheckName, "cmd/"+CrosscheckName) }

func find(name, source string) (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is neither beside modelpatch nor on PATH (go install github.com/modelpatch/modelpatch/%s@latest)", name, source)
	}
	return path, nil
}

// crosscheckTime bounds the run of a case.
const crosscheckTime = 2 * time.Minute

// graceTime is given to an executable that was asked to end, to end its own processes.
const graceTime = 15 * time.Second

// maxAnswer bounds what is read of an answer, in bytes, maxSaid what is kept of what the
// executable says beside it.
const (
	maxAnswer = 64 << 20
	maxSaid   = 4 << 10
)

// Crosscheck has the executable at path compute a case.
func Crosscheck(ctx context.Context, path string, c verify.Case) ([][]float64, error) {
	answer, err := ask(ctx, CrosscheckName, path, Request{Crosscheck: NewJob(c)}, crosscheckTime)
	if err != nil {
		return nil, err
	}
	if len(answer.Output) != len(c.Query) || len(answer.Output) > 0 && len(c.Value) > 0 && len(answer.Output[0]) != len(c.Value[0]) {
		return nil, fmt.Errorf("%s answered with another shape", CrosscheckName)
	}
	return floats(answer.Output), nil
}

// lateError says that an executable was ended since it took too long.
type lateError string

// Error says so in a sentence.
func (e lateError) Error() string { return string(e) }

// ask starts the executable with a request and reads its answer, for at most limit. The
// error says how it ended, and what it said last.
func ask(ctx context.Context, name, path string, r Request, limit time.Duration) (Answer, error) {
	var a Answer
	in, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, path)
	cmd.Stdin = bytes.NewReader(in)
	cmd.Cancel = func() error { return cmd.Process.Signal(endSignal) }
	cmd.WaitDelay = graceTime
	out, said := &kept{most: maxAnswer, refuse: true}, &kept{most: maxSaid}
	cmd.Stdout, cmd.Stderr = out, said
	err = cmd.Run()
	ended, _ := errors.AsType[*exec.ExitError](err)
	switch {
	case out.full:
		return a, fmt.Errorf("%s answered with more than %d bytes%s", name, maxAnswer, said.last())
	case ctx.Err() == context.DeadlineExceeded:
		return a, lateError(fmt.Sprintf("%s gave no answer in %s and was ended%s", name, limit, said.last()))
	case ended != nil && !ended.Exited():
		return a, fmt.Errorf("%s crashed (%s)%s", name, ended, said.last())
	case ended != nil:
		return a, fmt.Errorf("%s ended with exit code %d and without an answer%s", name, ended.ExitCode(), said.last())
	case err != nil:
		return a, fmt.Errorf("%s could not be run: %w%s", name, err, said.last())
	}
	if err := json.Unmarshal(out.text, &a); err != nil {
		return a, fmt.Errorf("%s gave no answer in JSON (%w): %q%s", name, err, out.text[:min(len(out.text), 60)], said.last())
	}
	if a.Error != "" {
		return a, fmt.Errorf("%s: %s", name, report.Printable(a.Error))
	}
	return a, nil
}

// maxRequest bounds what is read of a request.
const maxRequest = 1 << 30

// Serve is what the executables do: it reads the request on standard input, has it answered until a signal
// comes, and returns the exit code.
func Serve(name string, answer func(context.Context, Request) Answer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	alone := func() int {
		fmt.Fprintf(os.Stderr, "%s: no request: it is started by modelpatch verify\nhint: modelpatch verify --engine BEFORE AFTER\n", name)
		return 2
	}
	info, err := os.Stdin.Stat()
	switch {
	case len(os.Args) == 2 && (os.Args[1] == "--help" || os.Args[1] == "-h"):
		fmt.Printf("%s computes what modelpatch verify compares, which starts it.\n\n"+
			"It takes no arguments: one request comes on its standard input as JSON, the answer goes\nto its standard output.\n\nUsage:\n  modelpatch verify --engine BEFORE AFTER\n", name)
		return 0
	case len(os.Args) > 1 || err == nil && info.Mode()&os.ModeCharDevice != 0: // a terminal, or nothing
		return alone()
	}
	var request Request
	if err := json.NewDecoder(io.LimitReader(os.Stdin, maxRequest)).Decode(&request); errors.Is(err, io.EOF) {
		return alone()
	} else if err != nil {
		fmt.Fprintf(os.Stderr, "%s: no JSON request: %v\n", name, err)
		return 2
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer(ctx, request)); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		return 5
	}
	return 0
}

// Unknown is the answer to a request for what an executable does not do.
func Unknown() Answer { return Answer{Error: "the request asks for nothing that this version knows"} }

// kept is what a process writes: at most so many bytes, the first of which are dropped for
// later ones unless more are refused.
type kept struct {
	most   int
	refuse bool
	full   bool // more came than is kept
	text   []byte
}

// Write keeps p, or refuses it.
func (k *kept) Write(p []byte) (int, error) {
	if len(k.text)+len(p) <= k.most {
		k.text = append(k.text, p...)
		return len(p), nil
	}
	if k.full = true; k.refuse {
		return 0, errors.New("too long an answer")
	}
	all := append(k.text, p...)
	k.text = append([]byte(nil), all[len(all)-k.most:]...)
	return len(p), nil
}

// last is the last line, as the end of a message; "" where there is none.
func (k *kept) last() string {
	text := strings.TrimSpace(string(k.text))
	if text == "" {
		return ""
	}
	return "; it said last: " + report.Printable(text[strings.LastIndex(text, "\n")+1:])
}
