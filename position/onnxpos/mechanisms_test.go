package onnxpos

import "testing"

// TestMechanisms refuses one that says nothing of itself, or is there twice.
func TestMechanisms(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range mechanisms {
		if k.Name == "" || k.Doc == "" || k.Find == nil || seen[k.Name] {
			t.Errorf("mechanism %q: a name of its own, a sentence and a search are needed", k.Name)
		}
		seen[k.Name] = true
	}
}
