package verify_test

import (
	"context"
	"fmt"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify"
)

// Run the attention of a model itself, from the numbers in its file, and say which checks passed.
func ExampleInspect() {
	m, err := modelpatch.Open(context.Background(), "../testdata/onnx/llama-dy23.onnx", modelpatch.OpenOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	v := verify.Inspect(m, verify.Options{Sample: verify.Sample{Layers: 1, Heads: 1, Positions: 8}})
	for _, k := range v.Checks {
		if k.Name == "attention" && k.Verdict == report.CheckPass {
			fmt.Println("attention is that of the formula")
			break
		}
	}
	// Output:
	// attention is that of the formula
}
