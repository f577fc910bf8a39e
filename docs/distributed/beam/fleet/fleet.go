// Package fleet is a pipeline of Apache Beam that has modelpatch check many model files, in batches, and
// counts what it finds: findings by rule and level, models by scheme.
//
// Start with [Check]. A worker runs the executable once a batch and hands it the paths on standard
// input, so that its start is paid once for some hundred files.
package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/stats"
)

func init() { // Beam finds functions by their registered names on workers
	register.DoFn3x1[context.Context, []string, func(string), error](&run{})
	register.Function2x1(countables)
	register.Function2x1(worded)
	register.Emitter1[string]()
}

// Batches cuts a list into batches of at most n.
func Batches(paths []string, n int) [][]string {
	return slices.Collect(slices.Chunk(paths, max(n, 1)))
}

// Check has the executable check the paths of each batch, with further arguments. lines are the
// reports, one JSON object a file; counts are lines "what: how often".
func Check(s beam.Scope, executable string, arguments []string, batches beam.PCollection) (lines, counts beam.PCollection) {
	lines = beam.ParDo(s, &run{Executable: executable, Arguments: arguments}, beam.Reshuffle(s, batches))
	counts = beam.ParDo(s, worded, stats.Count(s, beam.ParDo(s, countables, lines)))
	return lines, counts
}

// run checks a batch.
type run struct {
	Executable string
	Arguments  []string
}

// ProcessElement runs the executable. A batch whose process dies, or which gives fewer lines than it has
// paths, is an error, and Beam tries it again.
func (r *run) ProcessElement(ctx context.Context, batch []string, emit func(string)) error {
	c := exec.CommandContext(ctx, r.Executable, append([]string{"check", "--json", "--files-from", "-"}, r.Arguments...)...)
	c.Stdin = strings.NewReader(strings.Join(batch, "\n") + "\n")
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && (ended.ExitCode() == 1 || ended.ExitCode() == 3) {
		err = nil // files have faults, or cannot be read: the lines say so
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w: %.500s", r.Executable, err, said.String())
	case len(lines) != len(batch):
		return fmt.Errorf("%d lines for %d files: %.500s", len(lines), len(batch), said.String())
	}
	for _, line := range lines {
		emit(line)
	}
	return nil
}

// countables gives what is counted of a report: a rule at its level for each finding, each scheme.
func countables(line string, emit func(string)) error {
	var r struct {
		Findings []struct{ Rule, Level string }
		Facts    *struct{ Schemes []string }
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return fmt.Errorf("not a report: %w: %.200s", err, line)
	}
	for _, f := range r.Findings {
		emit("rule " + f.Rule + " (" + f.Level + ")")
	}
	if r.Facts != nil {
		slices.Sort(r.Facts.Schemes)
		for _, scheme := range slices.Compact(r.Facts.Schemes) {
			emit("scheme " + scheme)
		}
	}
	return nil
}

// worded is a line for a count.
func worded(what string, n int) string { return fmt.Sprintf("%s: %d", what, n) }
