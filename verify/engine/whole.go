package engine

import (
	"context"
	"errors"
	"time"

	"github.com/modelpatch/modelpatch/report"
)

// Pair asks for two files to be run whole, in the engine that serves their format.
type Pair struct {
	Format        string `json:"format"` // onnx or gguf
	Before, After Side   `json:",omitzero"`
	// Equal says that outputs on old positions must be those of before; otherwise how
	// far they differ is told.
	Equal bool `json:"equal"`
	// LlamaServer is the server's executable; "": llama-server of PATH.
	LlamaServer string `json:"llama_server,omitempty"`
}

// Side is one of the files.
type Side struct {
	Path string `json:"path"`
	// Length is the number of positions that it serves: what it encodes, or else states;
	// 0 where it says neither.
	Length int `json:"length"`
	// Fails is set where more than Length positions fail, by inspect.
	Fails bool `json:"fails"`
	// Sizes are those of dimensions that the file leaves free and the graph does not, by the
	// input's name (position.InputSizer): 0 where a caller may choose, −1 where there may be none.
	Sizes map[string][]int `json:"sizes,omitempty"`
}

// wholeTime bounds the run of a pair.
const wholeTime = 8 * time.Minute

// Whole has the executable at path run both files. What the engine itself does wrong
// (a crash) is a failed check; one that takes too long did not run. refuses is set where the engine runs neither
// file: its words on the file after.
func Whole(ctx context.Context, path string, p Pair) (checks []report.Check, refuses string) {
	return whole(ctx, path, p, wholeTime)
}

func whole(ctx context.Context, path string, p Pair, limit time.Duration) (checks []report.Check, refuses string) {
	answer, err := ask(ctx, Name, path, Request{Whole: &p}, limit)
	if ctx.Err() != nil {
		return []report.Check{{Name: report.CheckEngine, Verdict: report.CheckSkipped, Why: "stopped: " + ctx.Err().Error()}}, ""
	}
	if _, late := errors.AsType[lateError](err); late {
		return []report.Check{{Name: report.CheckEngine, Verdict: report.CheckSkipped, Why: "not run: " + err.Error()}}, ""
	}
	if err != nil {
		return []report.Check{{Name: report.CheckEngine, Verdict: report.CheckFail, Why: err.Error()}}, ""
	}
	for i := range answer.Checks {
		answer.Checks[i].Name, answer.Checks[i].Why = report.CheckEngine, report.Printable(answer.Checks[i].Why)
	}
	if len(answer.Checks) == 0 {
		return []report.Check{{Name: report.CheckEngine, Verdict: report.CheckSkipped, Why: Name + " is older than this modelpatch: install both (go install github.com/modelpatch/modelpatch/cmd/...)"}}, ""
	}
	return answer.Checks, report.Printable(answer.Refuses)
}

// Ran reports whether an engine ran both files: no check of whole models was skipped.
func Ran(v report.Verify) bool {
	ran := false
	for _, k := range v.Checks {
		if k.Name == report.CheckEngine {
			if k.Verdict == report.CheckSkipped {
				return false
			}
			ran = true
		}
	}
	return ran
}
