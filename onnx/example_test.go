package onnx_test

import (
	"fmt"

	"github.com/modelpatch/modelpatch/onnx"
)

// Look at a graph; weights stay on the disk until they are asked for.
func ExampleOpen() {
	f, err := onnx.Open("../testdata/onnx/gpt2-dy23.onnx", onnx.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	for _, in := range f.Graph.Inputs {
		fmt.Println("input", in.Name)
	}
	gathers := 0
	for _, n := range f.Graph.Nodes {
		if n.Op == "Gather" {
			gathers++
		}
	}
	fmt.Println(gathers, "lookups")
	// Output:
	// input input_ids
	// input attention_mask
	// 2 lookups
}
