package sidecar

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelpatch/modelpatch/internal/source"
)

// TestLinks: a file beside a model that is a link inside its folder is changed where it leads, and one that leads
// elsewhere, such as into a hub's cache, is left alone.
func TestLinks(t *testing.T) {
	for elsewhere, why := range map[bool]string{false: "", true: "a link out of the folder"} {
		folder, target := t.TempDir(), ""
		if target = filepath.Join(folder, "real.json"); elsewhere {
			target = filepath.Join(t.TempDir(), "blob")
		}
		if err := os.WriteFile(target, []byte(`{"n_positions": 32}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(folder, "config.json")); err != nil {
			t.Skipf("no links here: %v", err)
		}
		all, _, unread := Find(t.Context(), filepath.Join(folder, "m.gguf"), []Restated{{Of: Positions, From: 32, To: 64}}, source.Options{})
		if len(all) != 1 || len(unread) > 0 {
			t.Fatalf("%v, %v", all, unread)
		}
		if err := all.Aim(filepath.Join(folder, "m.gguf"), Destination{Follow: true, InPlace: true}); err != nil {
			t.Fatal(err)
		}
		if s := all[0]; !strings.Contains(s.why, why) || (s.target == "") != elsewhere {
			t.Errorf("elsewhere %v: to %q, %q", elsewhere, s.target, s.why)
		}
	}
}
