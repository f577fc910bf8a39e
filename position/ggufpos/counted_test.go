package ggufpos

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelpatch/modelpatch/gguf"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/position/ggufpos/arch"
	"github.com/modelpatch/modelpatch/position/ggufpos/hparams"
	"github.com/modelpatch/modelpatch/position/ggufpos/table"
)

// raw is a GGUF file as its bytes are written, sense or not.
type raw struct {
	pairs, infos  bytes.Buffer
	keys, tensors int
	data          int
}

func le(w *bytes.Buffer, v any) { binary.Write(w, binary.LittleEndian, v) }

func text(w *bytes.Buffer, s string) {
	le(w, uint64(len(s)))
	w.WriteString(s)
}

// key adds a key of a fixed-size value.
func (r *raw) key(name string, kind gguf.ValueType, value any) {
	text(&r.pairs, name)
	le(&r.pairs, uint32(kind))
	le(&r.pairs, value)
	r.keys++
}

// string adds a key of a string.
func (r *raw) string(name, value string) {
	text(&r.pairs, name)
	le(&r.pairs, uint32(gguf.TypeString))
	text(&r.pairs, value)
	r.keys++
}

// list adds a key of n elements, which each writes.
func (r *raw) list(name string, kind gguf.ValueType, n int, each func(w *bytes.Buffer, i int)) {
	text(&r.pairs, name)
	le(&r.pairs, uint32(gguf.TypeArray))
	le(&r.pairs, uint32(kind))
	le(&r.pairs, uint64(n))
	for i := range n {
		each(&r.pairs, i)
	}
	r.keys++
}

// tensor adds a matrix of F32 rows of 8 elements; its bytes are zeros.
func (r *raw) tensor(name string, rows int) { r.tensorAt(name, rows, r.data) }

func (r *raw) tensorAt(name string, rows, offset int) {
	text(&r.infos, name)
	le(&r.infos, []uint32{2})
	le(&r.infos, []uint64{8, uint64(rows)})
	le(&r.infos, uint32(gguf.F32))
	le(&r.infos, uint64(offset))
	r.data += 32 * rows
	r.tensors++
}

func (r *raw) write(t *testing.T, path string) {
	t.Helper()
	var out bytes.Buffer
	out.WriteString("GGUF")
	le(&out, uint32(3))
	le(&out, []uint64{uint64(r.tensors), uint64(r.keys)})
	out.Write(r.pairs.Bytes())
	out.Write(r.infos.Bytes())
	out.Write(make([]byte, -out.Len()&31))
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(out.Len()+r.data)); err != nil { // a hole, and nothing to write
		t.Fatal(err)
	}
}

// llama begins a file of plain RoPE whose other keys a shape adds.
func llama(name string, layers int) *raw {
	r := &raw{}
	r.string("general.architecture", name)
	for key, n := range map[string]uint32{arch.KeyContext: 64, arch.KeyEmbedding: 8, arch.KeyBlocks: uint32(layers), arch.KeyDims: 8} {
		r.key(name+"."+key, gguf.TypeUint32, n)
	}
	return r
}

// rawShapes are files of n things of one kind each, in one part or more.
var rawShapes = []struct {
	name   string
	length int // that they are extended to
	make   func(n int) []*raw
}{
	{"small keys, in as many shards as may hold them", 128, func(n int) []*raw {
		const most = gguf.MaxPairs / 2
		first := llama("llama", 1)
		first.key("llama."+arch.KeyHeads, gguf.TypeUint32, uint32(1))
		parts := []*raw{first}
		for i := range n {
			if i > 0 && i%most == 0 {
				parts = append(parts, &raw{})
			}
			parts[len(parts)-1].key(fmt.Sprint("llama.rope.", i), gguf.TypeUint32, uint32(i))
		}
		return parts
	}},
	{"keys beside a long name of the architecture", 128, func(n int) []*raw {
		r := &raw{}
		r.string("general.architecture", strings.Repeat("x", 4*n))
		for i := range min(n, gguf.MaxPairs-1) {
			r.key(fmt.Sprint("k", i), gguf.TypeUint32, uint32(i))
		}
		return []*raw{r}
	}},
	{"tensors of layers", 128, func(n int) []*raw {
		r := llama("llama", min(n/4, hparams.MaxLayers))
		r.key("llama."+arch.KeyHeads, gguf.TypeUint32, uint32(1))
		for i := range n / 4 {
			for _, name := range []string{"q", "k", "v", "output"} {
				r.tensor(fmt.Sprintf("blk.%d.attn_%s.weight", i, name), 8)
			}
		}
		return []*raw{r}
	}},
	{"tensors that move behind a table that grows", 128, func(n int) []*raw {
		r := llama("gpt2", 1)
		r.key("gpt2."+arch.KeyHeads, gguf.TypeUint32, uint32(1))
		r.tensor("token_embd.weight", 1)
		r.tensor(table.TensorName, 64)
		for i := range n {
			r.tensor(fmt.Sprint("t", i), 1)
		}
		return []*raw{r}
	}},
	{"tensors of long names in the reverse order", 128, func(n int) []*raw {
		r := llama("llama", 1)
		r.key("llama."+arch.KeyHeads, gguf.TypeUint32, uint32(1))
		for i := range n {
			r.tensorAt(strings.Repeat("same", 16)+fmt.Sprint(i), 1, 32*(n-1-i))
		}
		return []*raw{r}
	}},
	{"tables of T5's layers", 128, func(n int) []*raw {
		r := llama("t5", min(n, hparams.MaxLayers))
		r.key("t5."+arch.KeyHeads, gguf.TypeUint32, uint32(8))
		for i := range n {
			r.tensor(fmt.Sprintf("enc.blk.%d.attn_rel_b.weight", i), 32)
		}
		return []*raw{r}
	}},
	{"strings of a list", 128, func(n int) []*raw {
		r := llama("llama", 1)
		r.key("llama."+arch.KeyHeads, gguf.TypeUint32, uint32(1))
		r.list("tokenizer.ggml.tokens", gguf.TypeString, n, func(w *bytes.Buffer, i int) { text(w, fmt.Sprint(i)) })
		return []*raw{r}
	}},
	{"numbers in lists of layers", 128, func(n int) []*raw {
		r := llama("qwen2vl", min(n, hparams.MaxLayers))
		r.tensor("token_embd.weight", 1) // else it is a vocabulary, without attentions
		for key, mask := range map[string]int{arch.KeyHeads: 0, arch.KeyHeadsKV: 1, arch.KeySections: 1, arch.KeyPattern: 1, arch.KeyRopePattern: 1} {
			r.list("qwen2vl."+key, gguf.TypeUint32, n, func(w *bytes.Buffer, i int) { le(w, uint32(i&mask)) })
		}
		return []*raw{r}
	}},
	{"lists of lists", 128, func(n int) []*raw {
		r := llama("llama", 1)
		r.key("llama."+arch.KeyHeads, gguf.TypeUint32, uint32(1))
		r.list("nested", gguf.TypeArray, n, func(w *bytes.Buffer, i int) { le(w, uint32(gguf.TypeUint8)); le(w, uint64(0)) })
		return []*raw{r}
	}},
	{"shards of 64 tensors", 128, func(n int) []*raw {
		first := llama("llama", min(n/4, hparams.MaxLayers))
		first.key("llama."+arch.KeyHeads, gguf.TypeUint32, uint32(1))
		parts := []*raw{first}
		for i := range n {
			if i > 0 && i%64 == 0 {
				parts = append(parts, &raw{})
			}
			parts[len(parts)-1].tensor(fmt.Sprintf("blk.%d.attn_%c.weight", i/4, "qkvo"[i%4]), 8)
		}
		return parts
	}},
}

// shards writes the parts of a model beside each other and returns the first's path.
func shards(t *testing.T, parts []*raw) string {
	t.Helper()
	folder := t.TempDir()
	if len(parts) == 1 {
		path := filepath.Join(folder, "model.gguf")
		parts[0].write(t, path)
		return path
	}
	name := func(i int) string {
		return filepath.Join(folder, fmt.Sprintf("model-%05d-of-%05d.gguf", i+1, len(parts)))
	}
	for i, p := range parts {
		p.key("split.no", gguf.TypeUint16, uint16(i))
		p.key("split.count", gguf.TypeUint16, uint16(len(parts)))
		p.write(t, name(i))
	}
	return name(0)
}

// TestAllocationsGrowWithTheFile counts what is allocated for files of doubling size, in
// things and in bytes: opening, finding and extending them must not go through
// all of a file once more for each of its things. Go counts no other steps of a program
// from within; test/counted/statements.py counts the statements.
func TestAllocationsGrowWithTheFile(t *testing.T) {
	first := 256
	if n, err := strconv.Atoi(os.Getenv("COUNTED_NODES")); err == nil {
		first = n
	}
	for _, shape := range rawShapes {
		t.Run(shape.name, func(t *testing.T) {
			var before [2]uint64
			for n := first; n <= 4*first; n *= 2 {
				path := shards(t, shape.make(n))
				start := time.Now()
				made := allocations(func() { ask(t, path, shape.length) })
				t.Logf("%7d: %d allocations, %d bytes, %v", n, made[0], made[1], time.Since(start).Round(time.Millisecond))
				for i, what := range []string{"allocations", "bytes"} {
					if before[i] > 0 && made[i] > 3*before[i] { // lists and maps grow by doubling, too
						t.Errorf("%d %s for %d, %d for twice as many", before[i], what, n/2, made[i])
					}
				}
				before = made
			}
		})
	}
}

// allocations counts what a function allocates, and its bytes.
func allocations(do func()) (made [2]uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return [2]uint64{after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc}
}

// ask opens a model, asks for all that inspect and diff show of it, and extends it.
func ask(t *testing.T, path string, length int) {
	t.Helper()
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	position.Inspect(m)
	bare(m).Attentions()
	if _, err := bare(m).Parts(); err != nil {
		t.Fatal(err)
	}
	if _, err := position.Extend(m, position.ExtendOptions{Length: length}); err != nil {
		t.Log(err)
		return
	}
	plan, err := m.Edits()
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Check(); err != nil {
		t.Fatal(err)
	}
	for i := range plan.Outputs {
		plan.Edited(i)
	}
}
