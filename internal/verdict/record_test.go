package verdict

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/internal/source"
)

// FuzzReadPlan reads plans of any content.
func FuzzReadPlan(f *testing.F) {
	f.Add([]byte(`{"schema":"modelpatch.plan/1","path":"m","command":"extend --len 8","changes":[{"encoding":"e0","what":"w","expect":"same","tolerance":0}],"edits":[{"file":"m","range":[0,1],"bytes":1,"why":"w"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "plan.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := ReadPlan(path); (p == nil) == (err == nil) {
			t.Fatal(p, err)
		}
	})
}

// TestOwnRecordComesFirst: of records that tell of the same change that of the file's own name is the first.
func TestOwnRecordComesFirst(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a.onnx.plan.json", "n.onnx.plan.json", "z.onnx.plan.json"} {
		plan := `{"schema":"modelpatch.plan/1","request":{"verb":"rope","options":{"Base":50000}}}`
		if err := os.WriteFile(filepath.Join(folder, name), []byte(plan), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := recordsBeside("model.onnx", filepath.Join(folder, "n.onnx"))
	if len(found) != 3 || found[0].name != "n.onnx.plan.json" || found[1].name != "a.onnx.plan.json" {
		t.Errorf("%d records: %+v", len(found), found)
	}
}

// TestReadPlanOfAnything reads what is no plan, none of it whole.
func TestReadPlanOfAnything(t *testing.T) {
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	large := write("large", "")
	if err := os.Truncate(large, 1<<40); err != nil {
		t.Skip("skipped by name: plans of any kind (no sparse files here)")
	}
	for _, path := range []string{folder, os.DevNull, "/dev/zero", large, filepath.Join(folder, "absent"), write("text", "no plan"),
		write("empty", `{"schema":"modelpatch.plan/1","edits":[`+strings.Repeat("{},", maxPlanCommas)+`{}]}`)} {
		p, err := ReadPlan(path)
		if _, ok := errors.AsType[*source.InputError](err); !ok {
			t.Errorf("%s: %v, %v", path, p, err)
		}
	}
}
