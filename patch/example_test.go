package patch_test

import (
	"fmt"
	"io"
	"strings"

	"github.com/modelpatch/modelpatch/patch"
)

// A plan is made against the original offsets and read without writing a file.
func ExamplePlan_NewReader() {
	original := "context 2048, 24 layers"
	p := patch.Plan{
		Inputs:  []patch.Input{{Path: "model", Size: int64(len(original))}},
		Outputs: []patch.Output{{Input: 0}},
		Edits: []patch.Edit{
			{At: 8, Old: 4, New: patch.Text("16384"), Why: "the length"},
			{At: 23, New: patch.Text(", yarn"), Why: "the scaling"},
		},
	}
	if err := p.Check(); err != nil {
		fmt.Println(err)
		return
	}
	result, _ := io.ReadAll(p.NewReader(0, strings.NewReader(original)))
	fmt.Println(string(result))
	// Output: context 16384, 24 layers, yarn
}
