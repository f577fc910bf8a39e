package patch

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// newFiles is a way to write files beside old ones, for TestPowerLossNew.
type newFiles struct {
	name   string
	before map[string]string // what is there, besides the inputs
	after  map[string]string // what is there when it is done; the root is outRoot
	write  func(*diskFS) error
}

// The files that are written: shards, for only these are replaced together.
const outRoot, outData = "out-00001-of-00002.gguf", "out-00002-of-00002.gguf"

// outConfig is a file that gets its name together with the root.
const outConfig = "config.json"

// inputMode is the mode of the inputs, which new files get too.
const inputMode = 0o640

func waysToWrite() (inputs map[string]string, ways []newFiles) {
	in, data := strings.Repeat("kept ", 3000), strings.Repeat("data ", 2000)
	inputs = map[string]string{"in": in, "in.data": data}
	plan := onePlan(int64(len(in)), Edit{At: 5000, Old: 10, New: Zeros(6000)})
	plan.Inputs[0].Path = "in"
	root := in[:5000] + strings.Repeat("\x00", 6000) + in[5010:]
	several := Plan{
		Inputs:  []Input{plan.Inputs[0], {Path: "in.data", Size: int64(len(data))}},
		Outputs: []Output{{}, {Input: 1, Name: outData}},
		Edits:   append(slices.Clone(plan.Edits), Edit{File: 1, At: int64(len(data)), New: Text("more")}),
	}
	write := func(p Plan, o WriteOptions) func(*diskFS) error {
		return func(d *diskFS) error {
			o.FS = d
			_, err := WriteNew(context.Background(), p, outRoot, o)
			return err
		}
	}
	beside := func(keep bool) func(*diskFS) error {
		p := plan
		p.Inputs = append(slices.Clone(plan.Inputs), Input{Path: "in.data", Size: int64(len(data))})
		p.Outputs = []Output{{}, {Input: 1, Name: outConfig, Beside: true, Keep: keep}}
		p.Edits = append(slices.Clone(plan.Edits), Edit{File: 1, At: int64(len(data)), New: Text("more")})
		return write(p, WriteOptions{Force: true})
	}
	config := map[string]string{outRoot: root, outConfig: data + "more"}
	save := func(d *diskFS) error {
		_, err := Save(context.Background(), plan.Inputs, outRoot, WriteOptions{Force: true, FS: d}, func(w io.Writer) error {
			_, err := io.WriteString(w, root)
			return err
		})
		return err
	}
	one, two := map[string]string{outRoot: root}, map[string]string{outRoot: root, outData: data + "more"}
	old, olds := map[string]string{outRoot: "old"}, map[string]string{outRoot: "old", outData: "old data"}
	kept := map[string]string{outRoot: root, outRoot + ".bak": "old"}
	keptBoth := map[string]string{outRoot: root, outRoot + ".bak": "old", outData: data + "more", outData + ".bak": "old data"}
	return inputs, []newFiles{
		{"new", nil, one, write(plan, WriteOptions{})},
		{"replaced", old, one, write(plan, WriteOptions{Force: true})},
		{"kept", old, kept, write(plan, WriteOptions{Backup: true})},
		{"several", nil, two, write(several, WriteOptions{})},
		{"several replaced", olds, two, write(several, WriteOptions{Force: true})},
		{"several kept", olds, keptBoth, write(several, WriteOptions{Backup: true})},
		{"with a file beside", nil, config, beside(false)},
		{"with a new file beside", map[string]string{outRoot: "old"}, config, beside(false)},
		{"with a kept file beside", map[string]string{outRoot: "old", outConfig: "{}"},
			map[string]string{outRoot: root, outConfig: data + "more", outConfig + ".bak": "{}"}, beside(true)},
		{"saved", nil, one, save},
		{"saved over", old, one, save},
	}
}

// TestPowerLossNew cuts the power at every operation of WriteNew and Save, and
// up to four times at a random one of a recovery. Every file must be the old or the new
// one, whole; all of them the new ones when the root is; and what was reported
// as done must be there.
func TestPowerLossNew(t *testing.T) {
	rounds := 24
	if testing.Short() {
		rounds = 4
	}
	inputs, ways := waysToWrite()
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(len(w.name)), uint64(len(w.before))))
			outcomes := map[bool]int{}
			for n, done := 1, false; !done; n++ {
				done = true
				for range rounds {
					disk := w.disk(inputs)
					disk.dies = n
					err := w.write(disk)
					done = done && disk.count < n
					disk.losePower(r)
					for range r.IntN(5) {
						disk.dies = 1 + r.IntN(16)
						Recover(outRoot, disk)
						disk.losePower(r)
					}
					if _, rerr := Recover(outRoot, disk); rerr != nil {
						t.Fatalf("operation %d: recovery after %v: %v", n, err, rerr)
					}
					disk.losePower(r) // what recovery reported must be on the disk
					Recover(outRoot, disk)
					isNew, fault := w.state(disk, inputs)
					if fault != "" || err == nil && !isNew {
						t.Fatalf("operation %d, after error %v: new is %v; %s", n, err, isNew, fault)
					}
					outcomes[isNew]++
				}
			}
			if outcomes[false] == 0 || outcomes[true] == 0 {
				t.Errorf("the test tests nothing: %v", outcomes)
			}
		})
	}
}

// disk has the inputs and the old files, and orders nothing by itself.
func (w newFiles) disk(inputs map[string]string) *diskFS {
	content := maps.Clone(inputs)
	maps.Copy(content, w.before)
	d := newDisk(content)
	for name := range inputs {
		d.names[name].now.mode, d.names[name].synced.mode = inputMode, inputMode
	}
	d.disorder = true
	return d
}

// state reports whether the root is the new one, and what is wrong with the
// files.
func (w newFiles) state(d *diskFS, inputs map[string]string) (isNew bool, fault string) {
	for name, want := range inputs {
		if d.names[name] == nil || d.content(name) != want {
			return false, "an input changed"
		}
	}
	isNew = d.names[outRoot] != nil && d.content(outRoot) == w.after[outRoot]
	for _, name := range slices.Sorted(maps.Keys(w.after)) {
		old, was := w.before[name]
		f := d.names[name]
		switch {
		case f == nil && (was || isNew):
			return isNew, name + " is gone"
		case f == nil:
		case d.content(name) == w.after[name]:
			if mode := f.now.mode; mode != inputMode && !strings.HasSuffix(name, ".bak") {
				return isNew, fmt.Sprintf("%s has mode %v", name, mode)
			}
			if (was || name == outConfig) && !isNew {
				return isNew, name + " is new, the root is old"
			}
		case !was || d.content(name) != old:
			return isNew, name + " is neither old nor new"
		case isNew:
			return isNew, name + " is old, the root is new"
		}
	}
	return isNew, left(d, w.after, inputs)
}

// left names a temporary file that is still there: Recover takes them all away.
func left(d *diskFS, after, inputs map[string]string) string {
	for name := range d.names {
		if _, ok := after[name]; !ok && inputs[name] == "" {
			return "there is " + name
		}
	}
	return ""
}
