package patch

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// patchOf writes a plan as a patch file and reads it again.
func patchOf(t *testing.T, p Plan, in string, o PatchOptions) (*PatchFile, []byte) {
	t.Helper()
	var b, again bytes.Buffer
	if err := p.WritePatch(&b, 0, strings.NewReader(in), o); err != nil {
		t.Fatal(err)
	}
	if err := p.WritePatch(&again, 0, strings.NewReader(in), o); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Fatal("two runs give two files", err)
	}
	f, err := ReadPatch(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, b.Bytes()
}

// TestPatchThereAndBack holds that a revert takes an apply back, for random
// plans, and that the patch knows each file for what it is.
func TestPatchThereAndBack(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 200 {
		old := make([]byte, r.IntN(500000))
		for k := range old {
			old[k] = byte(r.Uint32())
		}
		p := onePlan(int64(len(old)), randomPlan(r, int64(len(old)))...)
		new := readPlan(t, p, 0, string(old))
		o := PatchOptions{FullDigest: i%5 == 0, Data: [][2]int64{{int64(len(old) / 10), int64(len(old) / 2)}, {int64(len(old) / 2), int64(len(old))}}}
		f, _ := patchOf(t, p, string(old), o)
		if got := readPlan(t, f.Plan("x"), 0, string(old)); got != new {
			t.Fatalf("plan %d: forward differs", i)
		}
		if got := readPlan(t, f.Reverse("x"), 0, new); got != string(old) {
			t.Fatalf("plan %d: there and back differs", i)
		}
		if string(old) != new {
			fits(t, f, string(old), true, false)
			fits(t, f, new, false, true)
		}
	}
}

// TestPatchSaysWhatDiffers bends one byte at a time.
func TestPatchSaysWhatDiffers(t *testing.T) {
	old := strings.Repeat("0123456789abcdef", 40000) // 640,000 bytes
	data := [][2]int64{{1000, 640000}}
	edits := []Edit{{At: 10, Old: 3, New: Text("xyz"), Why: "a key"}, {At: 300000, Old: 4, New: Text("replaced"), Why: "a row"}}
	for _, c := range []struct {
		at   int
		full bool
		want string
	}{
		{11, false, "bytes 10 to 13 (a key)"},
		{300001, false, "(a row)"},
		{500, false, "what is not tensor data"},
		{300100, false, "near the edited bytes"},
		{250000, false, "near the edited bytes"},
		{600000, false, ""},
		{600000, true, "far from the edits"},
	} {
		f, _ := patchOf(t, onePlan(int64(len(old)), edits...), old, PatchOptions{Data: data, FullDigest: c.full})
		bent := []byte(old)
		bent[c.at] ^= 1
		how, err := f.Differs(bytes.NewReader(bent), int64(len(bent)), false)
		if err != nil || (how == "") != (c.want == "") || !strings.Contains(how, c.want) {
			t.Errorf("byte %d: %q, %v; want %q", c.at, how, err, c.want)
		}
	}
	f, _ := patchOf(t, onePlan(int64(len(old)), edits...), old, PatchOptions{Data: data})
	if how, _ := f.Differs(strings.NewReader(old[1:]), int64(len(old))-1, false); !strings.Contains(how, "639999 bytes, not 640000") {
		t.Error(how)
	}
}

func TestReadPatchDamaged(t *testing.T) {
	p := onePlan(10, Edit{At: 3, Old: 2, New: Text("new")}, Edit{At: 5, Old: 5})
	_, b := patchOf(t, p, "0123456789", PatchOptions{Change: "test"})
	for n := range b {
		if _, err := ReadPatch(bytes.NewReader(b[:n])); err == nil {
			t.Fatalf("the first %d bytes pass", n)
		}
		bent := bytes.Clone(b)
		bent[n] ^= 1
		if f, err := ReadPatch(bytes.NewReader(bent)); err == nil && n > 8 {
			t.Logf("bit %d flipped passes: %+v", n, f.PatchHeader)
		}
	}
}

// TestReadPatchHostile gives headers that claim what is not so.
func TestReadPatchHostile(t *testing.T) {
	const start = `{"schema":"modelpatch.patch/1","source":{"name":"a","size":10},"target":{"name":"a","size":10},"data":[],"around":[],"edits":`
	for _, c := range []struct{ name, header, want string }{
		{"no JSON", "nonsense", "not a patch file"},
		{"other schema", `{"schema":"modelpatch.plan/1"}`, "schema \"modelpatch.plan/1\""},
		{"huge edit", start + `[{"at":0,"old":0,"new":4611686018427387904}]}`, "an edit of 0 by"},
		{"many large edits", start + `[{"at":0,"old":4294967296,"new":4294967296}]}`, "claims more than"},
		{"negative", start + `[{"at":0,"old":-1,"new":0}]}`, "an edit of -1"},
		{"outside", start + `[{"at":8,"old":5,"new":5}]}`, "outside of 10 bytes"},
		{"overlap", start + `[{"at":1,"old":5,"new":5},{"at":3,"old":1,"new":1}]}`, "overlaps"},
		{"order", start + `[{"at":5,"old":1,"new":1},{"at":3,"old":1,"new":1}]}`, "out of order"},
		{"other size", start + `[{"at":5,"old":1,"new":2}]}`, "do not lead"},
		{"nothing follows", start + `[{"at":5,"old":5,"new":5}]}`, "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			z, _ := zstd.NewWriter(nil)
			_, err := ReadPatch(bytes.NewReader(z.EncodeAll([]byte(c.header+"\n"), nil)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	z, _ := zstd.NewWriter(nil)
	if _, err := ReadPatch(bytes.NewReader(z.EncodeAll(make([]byte, 64<<20), nil))); err == nil || !strings.Contains(err.Error(), "no end") {
		t.Error("a header of zeros:", err)
	}
}

// TestReadPatchOfEmptyEdits: a few hundred bytes may hold a header of millions
// of edits. What they would take is counted before they are made.
func TestReadPatchOfEmptyEdits(t *testing.T) {
	const start = `{"schema":"modelpatch.patch/1","source":{"name":"a","size":1000000},"target":{"name":"a","size":1000000},"data":`
	z, _ := zstd.NewWriter(nil)
	for _, c := range []struct{ name, header string }{
		{"two million edits", start + `[],"edits":[` + strings.Repeat("{},", 2000000) + `{}]}`},
		{"a hundred thousand edits", start + `[],"edits":[` + strings.Repeat(`{"at":0,"old":0,"new":0},`, 100000) + `{}]}`},
		{"as many of a byte", start + `[],"edits":[` + strings.Repeat(`{"at":0,"old":1,"new":1},`, 100000) + `{}]}`},
		{"ranges of data", start + `[` + strings.Repeat("[],", 2000000) + `[]],"edits":[]}`},
		{"surroundings", start + `[],"edits":[],"around":[` + strings.Repeat(`"",`, 2000000) + `""]}`},
		{"files beside", start + `[],"edits":[],"beside":[` + strings.Repeat(`{},`, 2000000) + `{}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			packed := z.EncodeAll([]byte(c.header+"\n"), nil)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p, err := ReadPatch(bytes.NewReader(packed))
			if err == nil {
				p.Close()
				t.Error("it was read")
			}
			runtime.ReadMemStats(&after)
			if made := after.TotalAlloc - before.TotalAlloc; made > 1<<28 {
				t.Errorf("%d bytes for %d", made, len(packed))
			}
		})
	}
}

// TestManyEdits writes a patch of as many edits as one may have, and takes it
// there and back.
func TestManyEdits(t *testing.T) {
	const stride = 16
	in := strings.Repeat("0123456789abcdef", mostRanges)
	p := onePlan(int64(len(in)))
	for i := range int64(mostRanges) {
		p.Edits = append(p.Edits, Edit{At: i * stride, Old: 4, New: Text("new!"), Why: "a row"})
	}
	var b bytes.Buffer
	start := time.Now()
	if err := p.WritePatch(&b, 0, strings.NewReader(in), PatchOptions{Data: [][2]int64{{8, int64(len(in))}}}); err != nil {
		t.Fatal(err)
	}
	f, err := ReadPatch(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if how, err := f.Differs(strings.NewReader(in), int64(len(in)), false); how != "" || err != nil {
		t.Error(how, err)
	}
	t.Log(time.Since(start))
	p.Edits = append(p.Edits, Edit{At: 8, Old: 1})
	if err := p.WritePatch(&b, 0, strings.NewReader(in), PatchOptions{}); !is[*RefusedError](err) {
		t.Errorf("one more: %v", err)
	}
}

func FuzzReadPatch(f *testing.F) {
	p := onePlan(10, Edit{At: 3, Old: 2, New: Text("new")}, Edit{At: 5, Old: 5})
	var b bytes.Buffer
	if err := p.WritePatch(&b, 0, strings.NewReader("0123456789"), PatchOptions{}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes(), false)
	f.Add([]byte(`{"schema":"modelpatch.patch/1","source":{"size":10},"target":{"size":11},"edits":[{"at":1,"old":0,"new":1}]}`+"\nx"), true)
	f.Fuzz(func(t *testing.T, b []byte, encode bool) {
		if encode {
			z, _ := zstd.NewWriter(nil)
			b = z.EncodeAll(b, nil)
		}
		p, err := ReadPatch(bytes.NewReader(b))
		if err != nil {
			return
		}
		defer p.Close()
		in := strings.Repeat("0", int(min(p.Source.Size, 1<<16)))
		p.Differs(strings.NewReader(in), int64(len(in)), false)
		p.Differs(strings.NewReader(in), int64(len(in)), true)
	})
}
