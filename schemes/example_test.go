package schemes_test

import (
	"fmt"

	"github.com/modelpatch/modelpatch/schemes"
)

// The frequencies of RoPE, and what YaRN makes of them: fast pairs stay, slow ones are divided by the
// factor (Peng et al. 2023).
func ExampleRotary_InverseFrequencies() {
	r := schemes.Rotary{Base: 10000, Dim: 8}
	fmt.Printf("%.5f\n", r.InverseFrequencies())
	r.Scaling = schemes.Scaling{Type: schemes.ScalingYaRN, Factor: 4, OriginalLength: 2048}
	fmt.Printf("%.5f\n", r.InverseFrequencies())
	// Output:
	// [1.00000 0.10000 0.01000 0.00100]
	// [1.00000 0.10000 0.00625 0.00025]
}

// The slopes of ALiBi for eight heads (Press et al. 2022).
func ExampleALiBiSlopes() {
	fmt.Println(schemes.ALiBiSlopes(8, 8))
	// Output:
	// [0.5 0.25 0.125 0.0625 0.03125 0.015625 0.0078125 0.00390625]
}
