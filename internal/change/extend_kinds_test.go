package change_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// TestExtendKinds extends one file of each kind that is laid out unlike others
// and has the verifier look at the result. Engines run the same kinds through
// score-extend, where they can (big-endian files they cannot).
func TestExtendKinds(t *testing.T) {
	for _, c := range []struct {
		kind, file string
		length     int
		verdict    string
	}{
		{"split GGUF", "../../testdata/gguf/split-gpt2-nofirst-00001-of-00003.gguf", 96, report.VerdictSameOnPrefix},
		{"external data", "../../testdata/onnx/genai-llama-fp32-ext.onnx", 128, report.VerdictSameOnPrefix},
		{"Q8_0 table", "../../testdata/gguf/edit-gpt2-table-q8.gguf", 96, report.VerdictSameOnPrefix},
		{"big-endian", "../../testdata/gguf/edit-bigendian.gguf", 256, report.VerdictChangedAsPlanned},
		{"little-endian", "../../testdata/gguf/llama-plain.gguf", 256, report.VerdictChangedAsPlanned},
		{"fixed length", "../../testdata/onnx/opt-dy18fix.onnx", 22, report.VerdictSameOnPrefix},
		{"uint8 table", "../../../shared/corpus/onnx/gpt2-ts17-qdyn.onnx", 96, report.VerdictSameOnPrefix},
		{"table with several readers", "../../../shared/corpus/onnx/clip-dy18.onnx", 48, report.VerdictSameOnPrefix},
		{"equal tables merged", "../../../shared/corpus/onnx/m2m100-enc-ts17.onnx", 60, report.VerdictSameOnPrefix},
	} {
		t.Run(c.kind, func(t *testing.T) {
			if _, err := os.Stat(c.file); err != nil {
				t.Skip(c.file + " is not there")
			}
			name := filepath.Base(c.file)
			target := filepath.Join(t.TempDir(), name)
			ctx := context.Background()
			r, err := modelpatch.Extend(ctx, c.file, modelpatch.ExtendOptions{ExtendOptions: position.ExtendOptions{Length: c.length}, Write: modelpatch.WriteOptions{Output: target}})
			if err != nil {
				t.Fatal(err)
			}
			v, err := modelpatch.Verify(ctx, target, modelpatch.VerifyOptions{Before: c.file, Plan: &r.Plan, NoEngine: true})
			if err != nil || v.Verdict != c.verdict {
				t.Errorf("verdict %s, want %s: %+v %v", v.Verdict, c.verdict, v.Checks, err)
			}
		})
	}
}
