package arch

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestArchOf finds every entry by its own line.
func TestArchOf(t *testing.T) {
	var table struct{ Archs []*Entry }
	if err := json.Unmarshal([]byte(archsJSON), &table); err != nil {
		t.Fatal(err)
	}
	if len(table.Archs) != 154 {
		t.Errorf("%d architectures", len(table.Archs))
	}
	for _, want := range table.Archs {
		if got := Of(want.Name); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", want.Name, got, want)
		}
	}
	for _, name := range []string{"", "llam", "llama ", "LLAMA", `llama","scheme":"rope"`, "llama\n"} {
		if got := Of(name); got != nil {
			t.Errorf("%q: %+v", name, got)
		}
	}
}
