package verdict_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/position"
)

// A new file that no engine ran, where one is required, goes, and an old one stays.
func TestVerdictDropsTheFile(t *testing.T) {
	t.Setenv("PATH", "")
	target := filepath.Join(t.TempDir(), "new.gguf")
	_, err := modelpatch.Extend(t.Context(), "../../testdata/gguf/gpt2-f32.gguf", modelpatch.ExtendOptions{ExtendOptions: position.ExtendOptions{Length: 48},
		Write: modelpatch.WriteOptions{Output: target, Verify: &modelpatch.VerifyOptions{Engine: true, RequireEngine: true}}})
	if modelpatch.ExitCode(err) != modelpatch.ExitNo {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(target)); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}
