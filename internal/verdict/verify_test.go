package verdict_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// A new file that no engine ran, where one is required, goes, and an old one stays.
func TestVerdictDropsTheFile(t *testing.T) {
	t.Setenv("PATH", "")
	target := filepath.Join(t.TempDir(), "new.gguf")
	_, err := modelpatch.Extend(t.Context(), "../../testdata/gguf/gpt2-f32.gguf", modelpatch.ExtendOptions{ExtendOptions: position.ExtendOptions{Length: 48},
		Write: modelpatch.WriteOptions{Output: target, Verify: &modelpatch.VerifyOptions{Engine: true, RequireEngine: true}}})
	if modelpatch.ExitCode(err) != modelpatch.ExitNo {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(target)); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// A plan that was edited by hand is not that of the file.
func TestEditedPlan(t *testing.T) {
	model, target := "../../testdata/gguf/llama-plain.gguf", filepath.Join(t.TempDir(), "based.gguf")
	r, err := modelpatch.Rescale(t.Context(), model, modelpatch.RescaleOptions{RescaleOptions: position.RescaleOptions{Base: 20000}, Write: modelpatch.WriteOptions{Output: target}})
	if err != nil {
		t.Fatal(err)
	}
	for edited, want := range map[bool]string{false: report.VerdictChangedAsPlanned, true: report.VerdictDifferent} {
		plan := r.Plan
		if edited {
			plan.Changes = append(slices.Clone(plan.Changes), report.Change{What: "anything", Expect: report.ExpectChanged})
		}
		v, err := modelpatch.Verify(t.Context(), target, modelpatch.VerifyOptions{Before: model, Plan: &plan, NoEngine: true})
		if err != nil || v.Verdict != want {
			t.Errorf("edited %v: %s (%s), %v; want %s", edited, v.Verdict, v.Summary, err, want)
		}
	}
}

// What changes old positions is not what keeps them.
func TestUnplannedChange(t *testing.T) {
	model, target := "../../testdata/gguf/llama-plain.gguf", filepath.Join(t.TempDir(), "based.gguf")
	if _, err := modelpatch.Rescale(t.Context(), model, modelpatch.RescaleOptions{RescaleOptions: position.RescaleOptions{Base: 20000}, Write: modelpatch.WriteOptions{Output: target}}); err != nil {
		t.Fatal(err)
	}
	for expect, want := range map[string]string{"": report.VerdictConsistent, report.ExpectSameOnPrefix: report.VerdictDifferent, report.ExpectSame: report.VerdictDifferent, report.ExpectChanged: report.VerdictChangedAsPlanned} {
		v, err := modelpatch.Verify(t.Context(), target, modelpatch.VerifyOptions{Before: model, Expect: expect, NoEngine: true})
		if err != nil || v.Verdict != want {
			t.Errorf("expected %q: %s (%s), %v; want %s", expect, v.Verdict, v.Summary, err, want)
		}
	}
}
