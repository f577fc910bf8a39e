package ggufpos

import (
	"encoding/json"
	"reflect"
	"testing"
)

// archs is the table of architectures by name, parsed as a whole.
func archs(t *testing.T) map[string]*Arch {
	var table struct{ Archs []*Arch }
	if err := json.Unmarshal([]byte(archsJSON), &table); err != nil {
		t.Fatal(err)
	}
	out := make(map[string]*Arch, len(table.Archs))
	for _, a := range table.Archs {
		out[a.Name] = a
	}
	return out
}

// TestArchOf finds every entry by its own line.
func TestArchOf(t *testing.T) {
	all := archs(t)
	if len(all) != 154 {
		t.Errorf("%d architectures", len(all))
	}
	for name, want := range all {
		if got := archOf(name); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	for _, name := range []string{"", "llam", "llama ", "LLAMA", `llama","scheme":"rope"`, "llama\n"} {
		if got := archOf(name); got != nil {
			t.Errorf("%q: %+v", name, got)
		}
	}
}
