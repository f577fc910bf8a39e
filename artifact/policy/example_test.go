package policy_test

import (
	"context"
	"fmt"
	"time"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/artifact/policy"
	"github.com/modelpatch/modelpatch/artifact/rules"
)

// Hold a model to a policy, as modelpatch check does.
func ExamplePolicy_Judge() {
	p, err := policy.Parse("policy.yaml", []byte(`
version: 1
for:
  - files: ["*.gguf"]
    expect:
      - id: long-enough
        length: ">= 1024"
`), time.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	facts := rules.Read(context.Background(), "../../testdata/gguf/gpt2-f32.gguf", modelpatch.OpenOptions{})
	defer facts.Close()
	findings, err := p.Judge(facts, rules.Look(facts))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range findings {
		fmt.Println(f.Level, f.Rule, f.Message)
	}
	// Output:
	// error policy-expectation expected by "long-enough": a length >= 1024, and 24 is stated
}
