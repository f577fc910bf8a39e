package patch

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// killSize makes an edit long enough to be hit in the middle.
const killSize = 1 << 20

func killContents() (old, new []byte) {
	return bytes.Repeat([]byte("old-"), killSize/4), bytes.Repeat([]byte("NEW+"), killSize/4)
}

// killEdit is one kind of change that the killed process makes, there and back.
type killEdit struct {
	name        string
	there, back []Edit
	new         []byte
	inserts     bool
}

func killEdits() []killEdit {
	old, new := killContents()
	block := bytes.Repeat([]byte("in"), 8*leastBlock)
	inserted := append(bytes.Clone(block), old...)
	copy(inserted[len(block)+100:], "changed")
	grown := append(append(bytes.Clone(old[:700000]), block...), old[700000:]...)
	return []killEdit{
		{name: "replace", there: []Edit{{Old: killSize, New: Bytes(new)}}, back: []Edit{{Old: killSize, New: Bytes(old)}}, new: new},
		{name: "insert", there: []Edit{{New: Bytes(block)}, {At: 100, Old: 7, New: Text("changed")}},
			back: []Edit{{Old: int64(len(block))}, {At: int64(len(block)) + 100, Old: 7, New: Bytes(old[100:107])}}, new: inserted, inserts: true},
		{name: "grow", there: []Edit{{At: 700000, New: Bytes(block)}}, back: []Edit{{At: 700000, Old: int64(len(block))}}, new: grown, inserts: true},
	}
}

// TestKilledChild is the process that TestKill kills: it edits a file over and
// over, there and back.
func TestKilledChild(t *testing.T) {
	path := os.Getenv("PATCH_TEST_KILL")
	if path == "" {
		t.Skip("runs as a child of TestKill")
	}
	kind, _ := strconv.Atoi(os.Getenv("PATCH_TEST_KIND"))
	c := killEdits()[kind]
	for {
		edits := c.there
		if b, _ := os.ReadFile(path); bytes.Equal(b, c.new) {
			edits = c.back
		}
		p := filePlan(path, edits...)
		if os.Getenv("PATCH_TEST_NEW") != "" {
			WriteNew(context.Background(), p, path+".out", WriteOptions{Force: true})
		}
		InPlace(context.Background(), p, InPlaceOptions{})
	}
}

// TestKill holds that SIGKILL leaves old or new bytes. MODELPATCH_KILLS is how
// often; a few times without it.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second or two")
	}
	kills := 18
	if n, err := strconv.Atoi(os.Getenv("MODELPATCH_KILLS")); err == nil {
		kills = n
	}
	edits := killEdits()
	if path := writeFile(t, t.TempDir(), "m", string(edits[0].new)); true {
		if _, err := InsertBlock(path, nil); err != nil {
			t.Log("without insertions:", err)
			edits = edits[:1]
		}
	}
	old, _ := killContents()
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	outcomes := make(map[string]int)
	for i := range kills {
		kind := i % len(edits)
		dir := t.TempDir()
		path := writeFile(t, dir, "m", string(old))
		child := exec.Command(os.Args[0], "-test.run=^TestKilledChild$")
		child.Env = append(os.Environ(), "PATCH_TEST_KILL="+path, "PATCH_TEST_KIND="+strconv.Itoa(kind))
		if i%4 == 0 {
			child.Env = append(child.Env, "PATCH_TEST_NEW=1")
		}
		if err := child.Start(); err != nil {
			t.Skip("no child processes here:", err)
		}
		time.Sleep(time.Duration(20+r.IntN(150)) * time.Millisecond)
		child.Process.Kill()
		child.Wait()
		did, err := Recover(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		outcomes[edits[kind].name+": "+string(did)]++
		for _, name := range []string{path, path + ".out"} {
			got, err := os.ReadFile(name)
			if err == nil && !bytes.Equal(got, old) && !bytes.Equal(got, edits[kind].new) {
				t.Errorf("%s: %s is neither old nor new", edits[kind].name, filepath.Base(name))
			}
		}
		if _, err := WriteNew(context.Background(), filePlan(path), path+".out", WriteOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		onlyFiles(t, dir, "m", "m.out")
		os.RemoveAll(dir)
	}
	t.Logf("recoveries: %v", outcomes)
}
