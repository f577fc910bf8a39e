// Package engine talks to modelpatch-engine, the second executable: real
// engines and foreign code that would weigh on the first. A request is one JSON
// object on its standard input, the answer one on its standard output.
package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify"
)

// Name is the executable's name.
const Name = "modelpatch-engine"

// Request asks for one thing.
type Request struct {
	Crosscheck *Job `json:"crosscheck,omitempty"`
}

// Answer is its result, or why there is none.
type Answer struct {
	Output [][]report.Number `json:"output,omitempty"`
	Error  string            `json:"error,omitempty"`
}

// Job is a verify.Case as JSON: infinities are words there.
type Job struct {
	State       [][]report.Number `json:"state"`
	Query       Linear            `json:"query"`
	Key         Linear            `json:"key"`
	Value       Linear            `json:"value"`
	Cos         [][]report.Number `json:"cos,omitempty"`
	Sin         [][]report.Number `json:"sin,omitempty"`
	Dim         int               `json:"dim"`
	Interleaved bool              `json:"interleaved"`
	Scale       report.Number     `json:"scale"`
	Bias        [][]report.Number `json:"bias"`
}

// Linear is a verify.Linear as JSON.
type Linear struct {
	Weights [][]report.Number `json:"weights"`
	Bias    []report.Number   `json:"bias,omitempty"`
}

// NewJob writes a case as a job.
func NewJob(c verify.Case) *Job {
	to := func(l verify.Linear) Linear { return Linear{Weights: Numbers(l.Weights), Bias: report.Numbers(l.Bias)} }
	return &Job{State: Numbers(c.State), Query: to(c.Query), Key: to(c.Key), Value: to(c.Value), Cos: Numbers(c.Cos), Sin: Numbers(c.Sin),
		Dim: c.Dim, Interleaved: c.Interleaved, Scale: report.Number(c.Scale), Bias: Numbers(c.Bias)}
}

// Case reads a job back.
func (j *Job) Case() verify.Case {
	from := func(l Linear) verify.Linear {
		out := verify.Linear{Weights: Floats(l.Weights)}
		if l.Bias != nil {
			out.Bias = Floats([][]report.Number{l.Bias})[0]
		}
		return out
	}
	return verify.Case{State: Floats(j.State), Query: from(j.Query), Key: from(j.Key), Value: from(j.Value), Cos: Floats(j.Cos), Sin: Floats(j.Sin),
		Dim: j.Dim, Interleaved: j.Interleaved, Scale: float64(j.Scale), Bias: Floats(j.Bias)}
}

// Numbers writes rows of numbers for JSON.
func Numbers(rows [][]float64) [][]report.Number {
	var out [][]report.Number
	for _, row := range rows {
		out = append(out, report.Numbers(row))
	}
	return out
}

// Floats reads rows of numbers.
func Floats(rows [][]report.Number) [][]float64 {
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

// Find returns the executable: beside this one, or on PATH.
func Find() (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), Name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	path, err := exec.LookPath(Name)
	if err != nil {
		return "", fmt.Errorf("%s is neither beside modelpatch nor on PATH (go install github.com/modelpatch/modelpatch/cmd/...)", Name)
	}
	return path, nil
}

// timeout bounds one request.
const timeout = 2 * time.Minute

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

// Crosscheck has the executable at path compute a case.
func Crosscheck(ctx context.Context, path string, c verify.Case) ([][]float64, error) {
	answer, err := ask(ctx, path, Request{Crosscheck: NewJob(c)})
	if err != nil {
		return nil, err
	}
	if len(answer.Output) != len(c.State) || len(answer.Output) > 0 && len(c.Value.Weights) > 0 && len(answer.Output[0]) != len(c.Value.Weights[0]) {
		return nil, fmt.Errorf("%s answered with another shape", Name)
	}
	return Floats(answer.Output), nil
}

func ask(ctx context.Context, path string, r Request) (Answer, error) {
	var a Answer
	in, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path)
	cmd.Stdin = bytes.NewReader(in)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if len(out) > maxAnswer {
		return a, fmt.Errorf("%s: an answer of %d bytes", Name, len(out))
	}
	if err != nil {
		return a, fmt.Errorf("%s: %w: %s", Name, err, report.Printable(strings.TrimSpace(complaints.String())))
	}
	if err := json.Unmarshal(out, &a); err != nil {
		return a, fmt.Errorf("%s: no JSON answer: %w", Name, err)
	}
	if a.Error != "" {
		return a, fmt.Errorf("%s: %s", Name, report.Printable(a.Error))
	}
	return a, nil
}
