package whole

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify/engine"
	"github.com/modelpatch/modelpatch/verify/engine/llama"
)

const (
	// maxContext bounds what is asked of llama-server, in tokens: its cache of keys and
	// values is as large as the context.
	maxContext = 16384
	// maxPrompt bounds a prompt, in tokens: one processor reads it.
	maxPrompt = 2048
	// least is the shortest prompt, and how much of a context an answer is left.
	least = 4
)

// logTolerance bounds how far natural logarithms of probabilities, or elements of a
// vector, of two equal models may differ: sums over caches of other sizes.
var logTolerance = report.Tolerance{Name: "engine-logprob", Value: 2e-3}

// served is what one server answered for one model.
type served struct {
	context int
	answers []map[int]float64 // a prompt each, as far as it answered
	stopped error             // why no more; nil: it answered all that fit into the context
}

// gguf runs both files in llama-server. What it refuses was not run; a crash on what the file before ran through is a fault.
func gguf(ctx context.Context, p engine.Pair) (checks []report.Check, refuses string) {
	server, err := llama.Find(p.LlamaServer)
	if err != nil {
		return skipped("", err.Error()), ""
	}
	version := llama.Version(ctx, server)
	if version == "" {
		version = "llama.cpp (llama-server tells no version)"
	}
	old, long := min(p.Before.Length, maxContext), min(p.After.Length, maxContext)
	prompts := lengths(min(shorter(old, long), maxPrompt) - least)
	embeddings := false
	before, err := serve(ctx, server, p.Before.Path, old, prompts, embeddings)
	if _, no := errors.AsType[*llama.RefusedError](err); no {
		embeddings = true
		before, err = serve(ctx, server, p.Before.Path, old, prompts, embeddings)
	}
	if err != nil {
		why := "not run: the file before: " + err.Error()
		if _, no := serve(ctx, server, p.After.Path, long, prompts, embeddings); no != nil {
			return skipped(version, why+"; the file after: "+no.Error()), no.Error()
		}
		return skipped(version, why+"; the file after runs"), ""
	}
	prompts = prompts[:len(before.answers)]
	all := slices.Clone(prompts)
	if n := min(long, maxPrompt) - least; n > 0 && !slices.Contains(all, n) {
		all = append(all, n)
	}
	after, err := serve(ctx, server, p.After.Path, long, all, embeddings)
	if err != nil {
		return []report.Check{notRun(ctx, server, version, p, old, long, prompts, embeddings, err)}, ""
	}
	checks = []report.Check{granted(version, p, old, long, before, after), answers(version, p, prompts, all, before, after, embeddings)}
	if before.stopped != nil {
		checks = append(checks, skipped(version, fmt.Sprintf("not run: the file before with more than %d tokens: %v", prompts[len(prompts)-1], before.stopped))...)
	}
	if after.stopped != nil {
		why := fmt.Sprintf("the file after with %d tokens: %v", all[len(after.answers)], after.stopped)
		if _, crashed := errors.AsType[*llama.CrashError](after.stopped); crashed {
			return append(checks, failed(version, why)), ""
		}
		checks = append(checks, skipped(version, "not run: "+why)...)
	}
	return checks, ""
}

// notRun tells of a file after that the server does not run where it runs the file before. A fault it is where it is
// so with the same context, or the server crashed; a longer one may be more than this machine has room for.
func notRun(ctx context.Context, server, version string, p engine.Pair, old, long int, prompts []int, embeddings bool, why error) report.Check {
	_, refused := errors.AsType[*llama.RefusedError](why)
	_, crashed := errors.AsType[*llama.CrashError](why)
	if !refused && !crashed && old != long {
		_, again := serve(ctx, server, p.After.Path, old, prompts, embeddings)
		refused = again == nil
	}
	if refused {
		return skipped(version, "not run: the file after: "+why.Error())[0]
	}
	return failed(version, "the file before runs there, and the file after does not: "+why.Error())
}

// granted is the check of the context.
func granted(version string, p engine.Pair, old, long int, before, after served) report.Check {
	why := fmt.Sprintf("it grants a context of %d (asked for %s) to the file before and %d (asked for %s) to the file after", before.context, requested(old, p.Before.Length), after.context, requested(long, p.After.Length))
	if after.context < long {
		return failed(version, why)
	}
	return passed(version, why)
}

func requested(n, length int) string {
	switch {
	case n == 0:
		return "what it states"
	case n < length:
		return fmt.Sprintf("%d of %d", n, length)
	}
	return fmt.Sprint(n)
}

// answers is the check of what the models say on old positions, and at the new length.
func answers(version string, p engine.Pair, prompts, all []int, before, after served, embeddings bool) report.Check {
	what := "log-probabilities of the next token"
	if embeddings {
		what = "elements of the embedding"
	}
	ran := min(len(all), len(after.answers)) // less where it refuses, or the context granted is too short
	for i := range ran {
		for id, x := range after.answers[i] {
			if math.IsNaN(x) || math.IsInf(x, 1) {
				return failed(version, fmt.Sprintf("the file after gives %s that are not finite after %d tokens (token %d)", what, all[i], id))
			}
		}
	}
	prompts = prompts[:min(len(prompts), ran)]
	worst, at, apart := 0.0, 0, 0
	for i := range prompts {
		common := 0
		for id, x := range before.answers[i] {
			y, ok := after.answers[i][id]
			if !ok {
				continue
			}
			common++
			if d := math.Abs(x - y); d > worst || math.IsNaN(d) {
				worst, at = d, prompts[i]
			}
		}
		if common == 0 {
			apart++
		}
	}
	k := passed(version, fmt.Sprintf("%s after %s tokens", what, list(prompts)))
	if ran > len(prompts) {
		k.Why += fmt.Sprintf("; the file after also runs %d", all[ran-1])
	}
	k.Inputs, k.Measure = "seeded", &report.Measure{MaxAbs: report.Number(worst), MaxRel: report.Number(worst)}
	if !p.Equal {
		k.Why += fmt.Sprintf("; they differ by up to %.3g, as an encoding that changed on purpose does", worst)
		return k
	}
	k.Tolerance = &logTolerance
	switch {
	case apart > 0:
		k.Verdict = report.CheckFail
		k.Why += "; other tokens are the likeliest, or none were told"
	case !(worst <= float64(logTolerance.Value)):
		k.Verdict = report.CheckFail
		k.Why += fmt.Sprintf("; they differ by %.3g after %d tokens, though old positions should be as before", worst, at)
		k.At = &report.At{Position: report.Pointer(at - 1)}
	}
	return k
}

// serve asks one server one model. The error is that of starting it, or of the first prompt.
func serve(ctx context.Context, server, model string, tokens int, prompts []int, embeddings bool) (out served, err error) {
	progress("llama-server with %s", model)
	longest := 0
	if embeddings {
		longest = slices.Max(prompts)
	}
	s, err := llama.Start(ctx, server, model, tokens, longest)
	if err != nil {
		return out, err
	}
	defer s.Close()
	out.context = s.Context
	ask := s.Next
	if embeddings {
		ask = s.Embedding
	}
	for _, n := range prompts {
		if n >= s.Context {
			break
		}
		answer, err := ask(ctx, tokensOf(n, s.Vocabulary))
		if err != nil && len(out.answers) == 0 {
			return out, fmt.Errorf("%d tokens: %w", n, err)
		}
		if err != nil {
			out.stopped = err
			break
		}
		out.answers = append(out.answers, answer)
	}
	if len(out.answers) == 0 {
		return out, fmt.Errorf("a context of %d is too short", s.Context)
	}
	return out, nil
}

// shorter is the lesser length, or the one that is told.
func shorter(a, b int) int {
	switch {
	case a == 0:
		return b
	case b == 0:
		return a
	}
	return min(a, b)
}
