package patch

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// killSize makes an edit long enough to be hit in the middle.
const killSize = 1 << 20

func killContents() (old, new []byte) {
	return bytes.Repeat([]byte("old-"), killSize/4), bytes.Repeat([]byte("NEW+"), killSize/4)
}

// TestKilledChild is the process that TestKill kills: it edits a file over and
// over, there and back.
func TestKilledChild(t *testing.T) {
	path := os.Getenv("PATCH_TEST_KILL")
	if path == "" {
		t.Skip("runs as a child of TestKill")
	}
	old, new := killContents()
	for {
		now := old
		if b, _ := os.ReadFile(path); bytes.Equal(b, old) {
			now = new
		}
		p := filePlan(path, Edit{Old: killSize, New: Bytes(now)})
		if os.Getenv("PATCH_TEST_NEW") != "" {
			WriteNew(context.Background(), p, path+".out", WriteOptions{Force: true})
		}
		InPlace(context.Background(), p, InPlaceOptions{})
	}
}

// TestKill holds that SIGKILL leaves old or new bytes.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second or two")
	}
	old, new := killContents()
	r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	outcomes := make(map[Recovered]int)
	for i := range 16 {
		dir := t.TempDir()
		path := writeFile(t, dir, "m", string(old))
		child := exec.Command(os.Args[0], "-test.run=^TestKilledChild$")
		child.Env = append(os.Environ(), "PATCH_TEST_KILL="+path)
		if i%3 == 0 {
			child.Env = append(child.Env, "PATCH_TEST_NEW=1")
		}
		if err := child.Start(); err != nil {
			t.Skip("no child processes here:", err)
		}
		time.Sleep(time.Duration(20+r.IntN(250)) * time.Millisecond)
		child.Process.Kill()
		child.Wait()
		did, err := Recover(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		outcomes[did]++
		for _, name := range []string{path, path + ".out"} {
			got, err := os.ReadFile(name)
			if err == nil && !bytes.Equal(got, old) && !bytes.Equal(got, new) {
				t.Errorf("%s is neither old nor new", filepath.Base(name))
			}
		}
		if _, err := WriteNew(context.Background(), filePlan(path), path+".out", WriteOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		onlyFiles(t, dir, "m", "m.out")
	}
	t.Logf("recoveries: %v", outcomes)
}
