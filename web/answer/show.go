package answer

import (
	"fmt"

	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/report"
)

// Patched is the answer about one patch file, with the names that Inspected has.
type Patched struct {
	Patch     *patch.PatchHeader `json:"patch"` // nil where there is an error
	Headline  string             `json:"headline"`
	Facts     [][2]string        `json:"facts"`
	Encodings []Encoding         `json:"encodings"` // none
	Findings  []Finding          `json:"findings"`  // none
	Failure
}

// Show says what the patch file at a path changes.
func Show(path string) (out Patched) {
	defer func() {
		if p := recover(); p != nil {
			out = Patched{Failure: mistake(fmt.Sprint(p))}
		}
	}()
	p, err := patch.OpenPatch(path)
	if err != nil {
		return Patched{Failure: Request{Path: path}.failure(err)}
	}
	defer p.Close()
	old, fresh := p.Bytes()
	facts := [][2]string{{"from", p.Source.Name + ", " + report.Size(p.Source.Size)}, {"to", p.Target.Name + ", " + report.Size(p.Target.Size)},
		{"edits", fmt.Sprintf("%d: %s give way to %s", len(p.Edits), report.Size(old), report.Size(fresh))}}
	for _, b := range p.Beside {
		facts = append(facts, [2]string{"beside", b.Name + " " + b.Pointer + ": " + b.Old + " → " + b.New})
	}
	return Patched{Patch: &p.PatchHeader, Headline: "patch: " + report.Printable(p.Change), Facts: printable(facts), Encodings: []Encoding{}, Findings: []Finding{}}
}
