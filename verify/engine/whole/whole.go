// Package whole runs a model before and after a change in the engine that serves its
// format, on seeded inputs, and compares what comes out: ONNX Runtime for ONNX,
// llama.cpp's server for GGUF. It is part of modelpatch-engine: an engine that crashes
// takes nothing else with it.
package whole

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify/engine"
)

// Run runs a pair. An engine that is not there is a skipped check that says so. refuses
// is set where the engine runs neither file: its words on the file after.
func Run(ctx context.Context, p engine.Pair) (checks []report.Check, refuses string) {
	switch p.Format {
	case "onnx":
		return onnx(ctx, p)
	case "gguf":
		return gguf(ctx, p)
	}
	return skipped("", "no engine is known for files of format "+p.Format), ""
}

// seed of all inputs.
const seed = 20

// tokensOf makes n token ids below vocabulary: the same ids, and those of a shorter
// text before those of a longer one.
func tokensOf(n, vocabulary int) []int {
	r := rand.New(rand.NewPCG(seed, seed))
	first := min(3, vocabulary-1) // the first few are mostly marks of beginning and end
	out := make([]int, n)
	for i := range out {
		out[i] = first + r.IntN(vocabulary-first)
	}
	return out
}

// lengths are a few of the lengths up to n; a short one where n says nothing.
func lengths(n int) []int {
	if n <= 0 {
		n = 8
	}
	out := []int{min(n, 8), (n + 1) / 2, n}
	slices.Sort(out)
	return slices.Compact(out)
}

func list(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = fmt.Sprint(n)
	}
	return strings.Join(words, ", ")
}

// progress tells what runs, so that a crash can be put down to it.
func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func passed(version, why string) report.Check {
	return report.Check{Name: report.CheckEngine, Verdict: report.CheckPass, Why: version + ": " + why}
}

func failed(version, why string) report.Check {
	k := passed(version, why)
	k.Verdict = report.CheckFail
	return k
}

func skipped(version, why string) []report.Check {
	if version != "" {
		why = version + ": " + why
	}
	return []report.Check{{Name: report.CheckEngine, Verdict: report.CheckSkipped, Why: why}}
}
