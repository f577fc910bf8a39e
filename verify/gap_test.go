package verify_test

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/verify"
)

// TestLayoutThatEnginesRefuse holds that a file is not called the same where it has all parts of
// another and lies so that llama.cpp refuses it; compared with itself it is.
func TestLayoutThatEnginesRefuse(t *testing.T) {
	folder := t.TempDir()
	write := func(name string, offsets [2]uint64, data int) string {
		var b bytes.Buffer
		put := func(values ...any) {
			for _, v := range values {
				if s, ok := v.(string); ok {
					binary.Write(&b, binary.LittleEndian, uint64(len(s)))
					b.WriteString(s)
					continue
				}
				binary.Write(&b, binary.LittleEndian, v)
			}
		}
		b.WriteString("GGUF")
		put(uint32(3), uint64(2), uint64(1), "general.architecture", uint32(8), "llama")
		for i, tensor := range []string{"a", "b"} {
			put(tensor, uint32(1), uint64(8), uint32(0), offsets[i]) // eight of float32
		}
		b.Write(make([]byte, (32-b.Len()%32)%32))
		b.Write(make([]byte, data))
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	sound, gap := write("sound.gguf", [2]uint64{0, 32}, 64), write("gap.gguf", [2]uint64{0, 64}, 96)
	for _, c := range []struct {
		before, after, want string
	}{{sound, gap, report.VerdictDifferent}, {gap, gap, report.VerdictSame}, {gap, sound, report.VerdictSame}} {
		if v := verify.Compare(open(t, c.before), open(t, c.after), verify.Options{}); v.Verdict != c.want {
			t.Errorf("%s, %s: %s, want %s: %v", filepath.Base(c.before), filepath.Base(c.after), v.Verdict, c.want, v.Checks)
		}
	}
}
