package patch

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
)

// TestParts: parts in order are the output; all but the last are of legal size; what is copied is
// what the input has; nothing that could be copied in one piece is uploaded.
func TestParts(t *testing.T) {
	const least, most = 10, 64
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		in := make([]byte, 1+r.IntN(400))
		for i := range in {
			in[i] = byte(r.Uint32())
		}
		p := Plan{Inputs: []Input{{Path: "x", Size: int64(len(in))}}, Outputs: []Output{{}}}
		for at := r.IntN(60); at < len(in); at += 1 + r.IntN(120) {
			old := min(r.IntN(5), len(in)-at)
			p.Edits = append(p.Edits, Edit{At: int64(at), Old: int64(old), New: Bytes(bytes.Repeat([]byte{7}, r.IntN(30)))})
			at += old
		}
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		want, err := io.ReadAll(p.NewReader(0, bytes.NewReader(in)))
		if err != nil {
			t.Fatal(err)
		}
		parts, err := p.Parts(0, least, most)
		if err != nil {
			t.Fatal(err)
		}
		at, uploaded := int64(0), int64(0)
		for i, x := range parts {
			if x.At != at || x.Size <= 0 || x.Size > most || x.Size < least && i < len(parts)-1 {
				t.Fatalf("part %d of %d: %+v at %d", i, len(parts), x, at)
			}
			if x.Copied && !bytes.Equal(in[x.From:x.From+x.Size], want[x.At:x.At+x.Size]) {
				t.Fatalf("part %d is copied from other bytes: %+v", i, x)
			}
			if !x.Copied {
				uploaded += x.Size
			}
			at += x.Size
		}
		if at != int64(len(want)) {
			t.Fatalf("%d bytes in parts, %d in all", at, len(want))
		}
		edited := int64(0)
		for _, e := range p.Edits {
			edited += sizeOf(e.New)
		}
		if most := edited + int64(2*least*(len(p.Edits)+1)); uploaded > most {
			t.Errorf("%d bytes are uploaded for %d new ones in %d edits", uploaded, edited, len(p.Edits))
		}
	}
}
