package modelpatch_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// folder is a new folder for what an example writes.
func folder() (path string, remove func()) {
	path, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	return path, func() { os.RemoveAll(path) }
}

// tell prints what a change came to.
func tell(r modelpatch.Result, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	if r.Nothing != "" {
		fmt.Println("nothing to change:", r.Nothing)
	}
	for _, c := range r.Plan.Changes {
		fmt.Println(c.What, "-", c.Expect)
	}
}

// Say how far a model counts.
func ExampleInspect() {
	r, err := modelpatch.Inspect(context.Background(), "testdata/gguf/gpt2-f32.gguf", modelpatch.OpenOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := r.Encodings[0]
	fmt.Println(e.Scheme, *e.Parameters.Rows, *r.Length.Capacity, r.Length.Beyond)
	// Output: learned 24 24 error
}

// A model need not be a file: anything with an io.ReaderAt can be looked at.
func ExampleOpenReader() {
	archive, err := os.ReadFile("testdata/gguf/llama-plain.gguf")
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := modelpatch.OpenReader(context.Background(), bytes.NewReader(archive), int64(len(archive)), "llama.gguf", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	r, err := modelpatch.Describe(m, "llama.gguf")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Path, r.Encodings[0].Scheme, *r.Encodings[0].Parameters.Base)
	// Output: llama.gguf rope 10000
}

// Make a model count twice as far, as a new file that is compared with the old one before it gets its
// name.
func ExampleExtend() {
	dir, remove := folder()
	defer remove()
	r, err := modelpatch.Extend(context.Background(), "testdata/gguf/gpt2-f32.gguf", modelpatch.ExtendOptions{
		ExtendOptions: position.ExtendOptions{Length: 48},
		Write:         modelpatch.WriteOptions{Output: filepath.Join(dir, "longer.gguf"), Verify: &modelpatch.VerifyOptions{NoEngine: true}},
	})
	tell(r, err)
	fmt.Println(r.Plan.Verified.Verdict)
	// Output:
	// position table 24 → 48 rows, tile - same-on-prefix
	// context length 24 → 48 - same-on-prefix
	// same-on-prefix
}

// Give an image model another picture size.
func ExampleResizeGrid() {
	tell(modelpatch.ResizeGrid(context.Background(), "testdata/onnx/cases/image-plane.onnx", modelpatch.GridOptions{
		GridOptions: position.GridOptions{Height: 6, Width: 8},
		Write:       modelpatch.WriteOptions{DryRun: true},
	}))
	// Output:
	// grid 4×4 → 6×8 patches, bicubic - changed
}

// Scale RoPE by YaRN, and only say what would be done.
func ExampleRescale() {
	tell(modelpatch.Rescale(context.Background(), "testdata/gguf/llama-plain.gguf", modelpatch.RescaleOptions{
		RescaleOptions: position.RescaleOptions{Scaling: "yarn", Factor: 4, OriginalLength: 4096, Length: 16384},
		Write:          modelpatch.WriteOptions{DryRun: true},
	}))
	// Output:
	// RoPE scaling none → yarn ×4 from 4096 with attention factor 1.139 - changed
	// context length 32 → 16384 - same-on-prefix
}

// Take base and scaling from another model, of either format.
func ExampleRescale_like() {
	tell(modelpatch.Rescale(context.Background(), "testdata/gguf/llama-plain.gguf", modelpatch.RescaleOptions{
		Like:  "testdata/gguf/qwen2-yarn4.gguf",
		Write: modelpatch.WriteOptions{DryRun: true},
	}))
	// Output:
	// RoPE base 10000 → 1000000; scaling none → yarn ×4 from 32 with attention factor 1.139 - changed
}

// Hold rotations in ONNX Runtime's own operator, which is faster there.
func ExampleToOperators() {
	tell(modelpatch.ToOperators(context.Background(), "testdata/onnx/llama-dy23.onnx", modelpatch.OperatorOptions{
		Set: "contrib", Write: modelpatch.WriteOptions{DryRun: true},
	}))
	// Output:
	// RoPE in contrib operators (4 places) - same
}

// Set a metadata key of positions.
func ExampleSet() {
	tell(modelpatch.Set(context.Background(), "testdata/gguf/llama-plain.gguf", modelpatch.SetOptions{
		SetOptions: position.SetOptions{Keys: []position.KeyValue{{Key: "rope.freq_base", Value: "500000"}}},
		Write:      modelpatch.WriteOptions{DryRun: true},
	}))
	// Output:
	// RoPE base 10000 → 500000 - changed
}

// Put ALiBi in the place of a model's position table.
func ExampleAddALiBi() {
	tell(modelpatch.AddALiBi(context.Background(), "testdata/onnx/gpt2-dy23.onnx", modelpatch.ALiBiOptions{
		ALiBiOptions: position.ALiBiOptions{Replace: true},
		Write:        modelpatch.WriteOptions{DryRun: true},
	}))
	// Output:
	// position table disabled - changed
	// ALiBi with max bias 8 added to 2 attentions of 2 heads - changed
}

// Let attention see the last 16 positions and the first 4.
func ExampleAddWindow() {
	tell(modelpatch.AddWindow(context.Background(), "testdata/onnx/llama-dy23.onnx", modelpatch.WindowOptions{
		WindowOptions: position.WindowOptions{Positions: 16, Sinks: 4},
		Write:         modelpatch.WriteOptions{DryRun: true},
	}))
	// Output:
	// a window of 16 positions and the first 4 for 2 attentions of 2 heads - changed
}

// Store what a graph computes for each position as tables, for engines without Sin and Cos.
func ExampleBake() {
	tell(modelpatch.Bake(context.Background(), "testdata/onnx/llama-dy23.onnx", modelpatch.BakeOptions{
		BakeOptions: position.BakeOptions{Length: 64},
		Write:       modelpatch.WriteOptions{DryRun: true},
	}))
	// Output:
	// RoPE as tables of 64 positions - same-on-prefix
}

// Have a graph compute what its tables hold: the way back of ExampleBake.
func ExampleUnbake() {
	dir, remove := folder()
	defer remove()
	ctx, baked := context.Background(), filepath.Join(dir, "baked.onnx")
	_, err := modelpatch.Bake(ctx, "testdata/onnx/llama-dy23.onnx", modelpatch.BakeOptions{
		BakeOptions: position.BakeOptions{Length: 64},
		Write:       modelpatch.WriteOptions{Output: baked},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	tell(modelpatch.Unbake(ctx, baked, modelpatch.UnbakeOptions{Write: modelpatch.WriteOptions{DryRun: true}}))
	// Output:
	// RoPE computed when the model runs - same-on-prefix
}

// Have a bias by buckets tell positions apart to a greater distance.
func ExampleRelative() {
	tell(modelpatch.Relative(context.Background(), "testdata/onnx/cases/t5-buckets.onnx", modelpatch.RelativeOptions{
		RelativeOptions: position.RelativeOptions{MaxDistance: 64},
		Write:           modelpatch.WriteOptions{DryRun: true},
	}))
	// Output:
	// 32 buckets to distance 128 → 32 to 64 - changed
}

// A change can travel as a patch file of some hundred bytes, and be taken back by it.
func ExampleApply() {
	dir, remove := folder()
	defer remove()
	ctx, model, longer := context.Background(), "testdata/gguf/gpt2-f32.gguf", filepath.Join(dir, "longer.gguf")
	_, err := modelpatch.Extend(ctx, model, modelpatch.ExtendOptions{
		ExtendOptions: position.ExtendOptions{Length: 48},
		Write:         modelpatch.WriteOptions{Output: longer, PatchOnly: true},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	tell(modelpatch.Apply(ctx, longer+".mpatch", model, modelpatch.PatchOptions{Write: modelpatch.WriteOptions{Output: longer}}))
	back := filepath.Join(dir, "back.gguf")
	if _, err := modelpatch.Revert(ctx, longer+".mpatch", longer, modelpatch.PatchOptions{Write: modelpatch.WriteOptions{Output: back}}); err != nil {
		fmt.Println(err)
		return
	}
	before, _ := os.ReadFile(model)
	after, _ := os.ReadFile(back)
	fmt.Println("as it was:", bytes.Equal(before, after))
	// Output:
	// apply: extend --len 48 - same-on-prefix
	// as it was: true
}

// A change in place leaves a patch that takes it back.
func ExampleUndo() {
	dir, remove := folder()
	defer remove()
	model := filepath.Join(dir, "llama.gguf")
	content, _ := os.ReadFile("testdata/gguf/llama-plain.gguf")
	if err := os.WriteFile(model, content, 0o644); err != nil {
		fmt.Println(err)
		return
	}
	ctx, inPlace := context.Background(), modelpatch.WriteOptions{InPlace: true}
	tell(modelpatch.Rescale(ctx, model, modelpatch.RescaleOptions{RescaleOptions: position.RescaleOptions{Base: 500000}, Write: inPlace}))
	if _, err := modelpatch.Undo(ctx, model, modelpatch.PatchOptions{Write: inPlace}); err != nil {
		fmt.Println(err)
		return
	}
	after, _ := os.ReadFile(model)
	fmt.Println("as it was:", bytes.Equal(content, after))
	// Output:
	// RoPE base 10000 → 500000 - changed
	// as it was: true
}

// Compare two models: one is the other but for a change of position encoding.
func ExampleVerify() {
	v, err := modelpatch.Verify(context.Background(), "testdata/onnx/lengths/bert-23.onnx", modelpatch.VerifyOptions{Before: "testdata/onnx/lengths/bert-17.onnx", NoEngine: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Verdict)
	// Output:
	// same-on-prefix
}

// Vouch for a change by a statement that names what was read and written by their digests.
func ExampleProvenance() {
	dir, remove := folder()
	defer remove()
	began := time.Now()
	r, err := modelpatch.Extend(context.Background(), "testdata/gguf/gpt2-f32.gguf", modelpatch.ExtendOptions{
		ExtendOptions: position.ExtendOptions{Length: 48},
		Write:         modelpatch.WriteOptions{Output: filepath.Join(dir, "longer.gguf"), Provenance: true},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	statement, err := modelpatch.Provenance(r, "1.0.0", began, time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(bytes.Contains(statement, []byte(*r.Plan.Written[0].SHA256)))
	// Output: true
}

// An error tells what to do about it.
func ExampleAdvice() {
	_, err := modelpatch.Extend(context.Background(), "testdata/gguf/gpt2-f32.gguf", modelpatch.ExtendOptions{ExtendOptions: position.ExtendOptions{Length: 48}})
	fmt.Println(modelpatch.ExitCode(err), err)
	_, remedies := modelpatch.Advice(err)
	for _, r := range remedies {
		fmt.Println(r)
	}
	// Output:
	// 2 no destination
	// output NEW writes a new file
	// in place changes this one
	// dry run only shows the plan
}

// The position encodings of a model are its sites; each tells what it is and where its numbers lie.
func ExampleOpen() {
	m, err := modelpatch.Open(context.Background(), "testdata/gguf/llama-plain.gguf", modelpatch.OpenOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	for _, s := range m.Sites() {
		e := s.Encoding()
		fmt.Println(e.Scheme, e.Form == report.FormKeys)
	}
	// Output:
	// RoPE base 10000, rotary dim 16, interleaved true
}
