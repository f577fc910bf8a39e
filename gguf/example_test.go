package gguf_test

import (
	"fmt"

	"github.com/modelpatch/modelpatch/gguf"
)

// Read a key, and change it: the edit is a few bytes, wherever the weights lie.
func ExampleFile_Edit() {
	f, err := gguf.Open("../testdata/gguf/llama-plain.gguf")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	architecture, _ := f.String("general.architecture")
	fmt.Println(architecture, f.TensorCount(), "tensors")
	e := f.Edit()
	e.Set("llama.rope.freq_base", gguf.Float32(500000), "another base")
	plan, err := e.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, edit := range plan.Edits {
		fmt.Println(edit.Old, "bytes become", edit.New.Size())
	}
	// Output:
	// llama 21 tensors
	// 4 bytes become 4
}
