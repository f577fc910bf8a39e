package patch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// diskFS is a file system in memory that can lose power. It keeps what the disk
// has apart from what processes see, and loses as real ones do: sectors that
// were written since the last sync are there or not, one by one; changes of
// names and of a file's block list come in their order, up to some point; and
// an insertion or removal of blocks may stop half-way, with a hole where it
// came to (facts/BAD-INPUTS §5). With disorder, as POSIX allows, changes of
// names come in any order.
type diskFS struct {
	names    map[string]*diskFile // what processes see
	onDisk   map[string]*diskFile
	renames  []nameChange // not on the disk yet
	disorder bool
	blocks   [][]byte // by number; nil is none
	written  [][]byte
	clock    int64
	count    int // operations
	dies     int // at this one; 0: never
}

// nameChange is a change of names in one folder or two. A sync of either puts it
// on the disk.
type nameChange struct {
	folders []string
	apply   func(map[string]*diskFile)
}

// extents is the list of a file's blocks, -1 for a hole, its size and its mode.
type extents struct {
	list []int
	size int64
	mode fs.FileMode
}

func (e extents) clone() extents { return extents{slices.Clone(e.list), e.size, e.mode} }

// fileChange is a change of extents. part makes a part of it, of as many as
// parts says: the moving hole.
type fileChange struct {
	all   func(*extents)
	parts int
	part  func(e *extents, n int)
}

type diskFile struct {
	disk   *diskFS
	folder string // its path, when it is one
	now    extents
	synced extents
	since  []fileChange
	at     int64 // time of the last change
}

const (
	diskBlock  = leastBlock
	diskSector = 512
)

func newDisk(content map[string]string) *diskFS {
	d := &diskFS{names: map[string]*diskFile{}, onDisk: map[string]*diskFile{}}
	for name, s := range content {
		f, _ := d.Create(name)
		f.WriteAt([]byte(s), 0)
		f.Sync()
	}
	d.syncNames(".")
	d.count = 0
	return d
}

func (d *diskFS) step() error {
	d.count++
	if d.dies > 0 && d.count >= d.dies {
		return errFault
	}
	d.clock++
	return nil
}

// syncNames puts the changes of a folder's names on the disk.
func (d *diskFS) syncNames(folder string) {
	var rest []nameChange
	for _, c := range d.renames {
		if slices.Contains(c.folders, folder) {
			c.apply(d.onDisk)
		} else {
			rest = append(rest, c)
		}
	}
	d.renames = rest
}

// rename changes the names that processes see, and later those on the disk.
func (d *diskFS) rename(change func(map[string]*diskFile), paths ...string) {
	change(d.names)
	c := nameChange{apply: change}
	for _, p := range paths {
		c.folders = append(c.folders, filepath.Dir(p))
	}
	d.renames = append(d.renames, c)
}

// losePower leaves what the disk happened to have.
func (d *diskFS) losePower(r *rand.Rand) {
	some := d.renames[:r.IntN(len(d.renames)+1)]
	if d.disorder {
		some = slices.DeleteFunc(d.renames, func(nameChange) bool { return r.IntN(2) == 0 })
	}
	for _, c := range some {
		c.apply(d.onDisk)
	}
	maps.DeleteFunc(d.onDisk, func(name string, _ *diskFile) bool { // of a folder that is not on the disk itself
		folder := filepath.Dir(name)
		return folder != "." && d.onDisk[folder] == nil
	})
	d.names, d.renames = maps.Clone(d.onDisk), nil
	for n, b := range d.blocks {
		for at := 0; at < len(b); at += diskSector {
			if r.IntN(2) == 0 {
				copy(d.written[n][at:at+diskSector], b[at:])
			}
		}
		copy(b, d.written[n])
	}
	for _, f := range d.names {
		k := r.IntN(len(f.since) + 1)
		for _, c := range f.since[:k] {
			c.all(&f.synced)
		}
		if k < len(f.since) && f.since[k].part != nil && r.IntN(2) == 0 {
			f.since[k].part(&f.synced, r.IntN(f.since[k].parts))
		}
		f.now, f.since = f.synced.clone(), nil
	}
	d.count, d.dies = 0, 0
}

func (d *diskFS) content(name string) string {
	b := make([]byte, d.names[name].now.size)
	d.names[name].ReadAt(b, 0)
	return string(b)
}

func (d *diskFS) Open(path string) (File, error) {
	if err := d.step(); err != nil {
		return nil, err
	}
	return d.open(path)
}

func (d *diskFS) open(path string) (File, error) {
	if f := d.names[path]; f != nil {
		return f, nil
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

func (d *diskFS) OpenWrite(path string) (File, error) { return d.Open(path) }

func (d *diskFS) Create(path string) (File, error) { return d.create(path, 0o600) }

func (d *diskFS) CreateShared(path string) (File, error) { return d.create(path, 0o644) }

func (d *diskFS) create(path string, mode fs.FileMode) (File, error) {
	if err := d.step(); err != nil {
		return nil, err
	}
	if d.names[path] != nil {
		return nil, fs.ErrExist
	}
	return d.make(path, mode), nil
}

// make gives a new file or folder a name.
func (d *diskFS) make(path string, mode fs.FileMode) *diskFile {
	f := &diskFile{disk: d}
	f.now.mode, f.synced.mode = mode, mode
	if mode.IsDir() {
		f.folder = path
	}
	d.rename(func(m map[string]*diskFile) { m[path] = f }, path)
	return f
}

func (d *diskFS) OpenDir(path string) (File, error) {
	if err := d.step(); err != nil {
		return nil, err
	}
	if path == "." {
		return &diskFile{disk: d, folder: path}, nil
	}
	return d.open(path)
}

func (d *diskFS) Lstat(path string) (fs.FileInfo, error) {
	f, err := d.Open(path)
	if err != nil {
		return nil, err
	}
	return f.Stat()
}

func (d *diskFS) Stat(path string) (fs.FileInfo, error)        { return d.Lstat(path) }
func (d *diskFS) EvalLinks(path string) (string, error)        { return path, d.step() }
func (d *diskFS) Free(string) (int64, error)                   { return -1, d.step() }
func (f *diskFile) TryLock() (bool, error)                     { return true, nil }
func (f *diskFile) Allocate(int64) error                       { return errors.ErrUnsupported }
func (f *diskFile) Close() error                               { return nil }
func (f *diskFile) CloneRange(int64, File, int64, int64) error { return fs.ErrInvalid }
func (f *diskFile) CopyRange(int64, File, int64, int64) (int64, error) {
	return 0, fs.ErrInvalid
}

func (d *diskFS) ReadDir(path string) ([]fs.DirEntry, error) {
	if err := d.step(); err != nil {
		return nil, err
	}
	var out []fs.DirEntry
	for _, name := range slices.Sorted(maps.Keys(d.names)) {
		if f := d.names[name]; filepath.Dir(name) == path {
			out = append(out, fs.FileInfoToDirEntry(diskInfo{f, filepath.Base(name), f.now.size, f.at}))
		}
	}
	return out, nil
}

func (d *diskFS) Mkdir(path string) error {
	if err := d.step(); err != nil {
		return err
	}
	d.make(path, fs.ModeDir|0o700)
	return nil
}

func (d *diskFS) Link(old, new string) error {
	if err := d.step(); err != nil {
		return err
	}
	f := d.names[old]
	d.rename(func(m map[string]*diskFile) { m[new] = f }, new)
	return nil
}

func (f *diskFile) CopyAttributes(src File) error {
	if err := f.disk.step(); err != nil {
		return err
	}
	mode := src.(*diskFile).now.mode
	f.change(fileChange{all: func(e *extents) { e.mode = mode }})
	return nil
}

func (d *diskFS) Remove(path string) error {
	if err := d.step(); err != nil {
		return err
	}
	if d.names[path] == nil {
		return fs.ErrNotExist
	}
	d.rename(func(m map[string]*diskFile) { delete(m, path) }, path)
	return nil
}

func (d *diskFS) Rename(old, new string) error {
	if err := d.step(); err != nil {
		return err
	}
	f := d.names[old]
	if f == nil {
		return fs.ErrNotExist
	}
	d.rename(func(m map[string]*diskFile) { delete(m, old); m[new] = f }, old, new)
	return nil
}

func (d *diskFS) RenameIn(folder, old, new string) error {
	return d.Rename(filepath.Join(folder, old), filepath.Join(folder, new))
}

func (d *diskFS) RenameNew(old, new string) error {
	if d.names[new] != nil {
		return fs.ErrExist
	}
	return d.Rename(old, new)
}

type diskInfo struct {
	f    *diskFile
	name string
	size int64
	at   int64
}

func (i diskInfo) Name() string       { return i.name }
func (i diskInfo) Size() int64        { return i.size }
func (i diskInfo) Mode() fs.FileMode  { return i.f.now.mode }
func (i diskInfo) ModTime() time.Time { return time.Unix(i.at, 0) }
func (i diskInfo) IsDir() bool        { return i.Mode().IsDir() }
func (i diskInfo) Sys() any           { return nil }
func (i diskInfo) SameFile(other fs.FileInfo) bool {
	o, ok := other.(diskInfo)
	return ok && o.f == i.f
}

func (f *diskFile) Stat() (fs.FileInfo, error) {
	return diskInfo{f, "", f.now.size, f.at}, f.disk.step()
}

func (f *diskFile) Sync() error {
	if err := f.disk.step(); err != nil {
		return err
	}
	if f.folder != "" {
		f.disk.syncNames(f.folder)
		return nil
	}
	for _, n := range f.now.list {
		if n >= 0 {
			copy(f.disk.written[n], f.disk.blocks[n])
		}
	}
	f.synced, f.since = f.now.clone(), nil
	return nil
}

func (f *diskFile) ReadAt(p []byte, at int64) (int, error) {
	if err := f.disk.step(); err != nil {
		return 0, err
	}
	n := 0
	for ; n < len(p) && at+int64(n) < f.now.size; n++ {
		p[n] = 0
		if b := f.now.list[(at+int64(n))/diskBlock]; b >= 0 {
			p[n] = f.disk.blocks[b][(at+int64(n))%diskBlock]
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// change changes the extents, later those on the disk.
func (f *diskFile) change(c fileChange) {
	f.at = f.disk.clock
	c.all(&f.now)
	f.since = append(f.since, c)
}

func (e *extents) resize(size int64) {
	n := int((size + diskBlock - 1) / diskBlock)
	for len(e.list) < n {
		e.list = append(e.list, -1)
	}
	e.list, e.size = e.list[:n], size
}

func (f *diskFile) WriteAt(p []byte, at int64) (int, error) {
	if err := f.disk.step(); err != nil {
		return 0, err
	}
	f.at = f.disk.clock
	end := at + int64(len(p))
	for first := at / diskBlock; first*diskBlock < end; first++ {
		i := int(first)
		if i >= len(f.now.list) || f.now.list[i] < 0 {
			// A new block gets into the list when its content is on the disk.
			f.disk.blocks = append(f.disk.blocks, make([]byte, diskBlock))
			f.disk.written = append(f.disk.written, make([]byte, diskBlock))
			n := len(f.disk.blocks) - 1
			from, to := max(at, first*diskBlock), min(end, (first+1)*diskBlock)
			copy(f.disk.written[n][from-first*diskBlock:], p[from-at:to-at])
			f.change(fileChange{all: func(e *extents) {
				e.resize(max(e.size, to))
				e.list[i] = n
			}})
		}
		b := f.disk.blocks[f.now.list[i]]
		from, to := max(at, first*diskBlock), min(end, (first+1)*diskBlock)
		copy(b[from-first*diskBlock:], p[from-at:to-at])
	}
	if end > f.now.size {
		f.change(fileChange{all: func(e *extents) { e.resize(max(e.size, end)) }})
	}
	return len(p), nil
}

func (f *diskFile) Truncate(size int64) error {
	if err := f.disk.step(); err != nil {
		return err
	}
	f.change(fileChange{all: func(e *extents) { e.resize(size) }})
	return nil
}

func holes(n int) []int { return slices.Repeat([]int{-1}, n) }

// withHole is a list whose blocks from k on have moved up by n.
func withHole(list []int, k, n int) []int {
	return slices.Concat(list[:k], holes(n), list[k:])
}

func (f *diskFile) InsertRange(at, size int64) error {
	if err := f.disk.step(); err != nil {
		return err
	}
	k, n := int(at/diskBlock), int(size/diskBlock)
	if at%diskBlock != 0 || size%diskBlock != 0 || at >= f.now.size {
		return fs.ErrInvalid
	}
	whole := len(f.now.list) - k
	f.change(fileChange{
		all: func(e *extents) { e.list, e.size = withHole(e.list, k, n), e.size+size },
		// First only the size grows; then the hole comes down from the end.
		parts: whole + 1,
		part:  func(e *extents, part int) { e.list, e.size = withHole(e.list, len(e.list)-part, n), e.size+size },
	})
	return nil
}

func (f *diskFile) CollapseRange(at, size int64) error {
	if err := f.disk.step(); err != nil {
		return err
	}
	k, n := int(at/diskBlock), int(size/diskBlock)
	if at%diskBlock != 0 || size%diskBlock != 0 || at+size >= f.now.size {
		return fs.ErrInvalid
	}
	f.change(fileChange{
		all: func(e *extents) { e.list, e.size = slices.Concat(e.list[:k], e.list[k+n:]), e.size-size },
		// The blocks go first; then their hole moves up to the end.
		parts: len(f.now.list) - k - n + 1,
		part: func(e *extents, part int) {
			e.list = slices.Concat(e.list[:k], e.list[k+n:k+n+part], holes(n), e.list[k+n+part:])
		},
	})
	return nil
}

func (f *diskFile) next(at int64, hole bool) int64 {
	for i := at / diskBlock; i < int64(len(f.now.list)); i++ {
		if f.now.list[i] < 0 == hole {
			return max(at, i*diskBlock)
		}
	}
	return -1
}

func (f *diskFile) NextHole(at int64) (int64, error) {
	n := f.next(at, true)
	if n < 0 || n > f.now.size {
		n = f.now.size
	}
	return n, f.disk.step()
}

func (f *diskFile) NextData(at int64) (int64, error) { return f.next(at, false), f.disk.step() }

// TestPowerLoss cuts the power at every operation of an edit in place, and
// again at a random one of its recovery, several times each: what is lost
// differs. The file must be the old or the new one afterwards, the new one only
// with its undo patch.
func TestPowerLoss(t *testing.T) {
	var b strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&b, "%05d ", i)
	}
	old := b.String() // 54,000 bytes
	size := int64(len(old))
	blocks := func(n int, s string) Source { return Text(strings.Repeat(s, n*diskBlock/len(s))) }
	rounds := 24
	if testing.Short() {
		rounds = 3
	}
	for _, c := range []struct {
		name  string
		edits []Edit
	}{
		{"replace", []Edit{{At: 100, Old: 9000, New: Zeros(9000)}, {At: 30000, Old: 3, New: Text("abc")}}},
		{"append", []Edit{{At: 5, Old: 1, New: Text("!")}, {At: size, New: Zeros(9000)}}},
		{"cut", []Edit{{At: 5, Old: 1, New: Text("!")}, {At: 20000, Old: size - 20000}}},
		{"insert at the start", []Edit{{New: blocks(1, "b")}, {At: 9000, Old: 3, New: Text("abc")}}},
		{"insert three blocks", []Edit{{At: 8192, New: blocks(3, "new!")}, {At: 8000, Old: 3, New: Text("abc")}, {At: 50000, Old: 4000, New: Zeros(4000)}}},
		{"insert inside a block", []Edit{{At: 21000, Old: 50, New: Concat(Zeros(50), blocks(1, "new!"))}, {At: 20900, Old: 3, New: Text("abc")}}},
		{"insert near the end", []Edit{{At: size - 10, New: blocks(2, "new!")}}},
		{"insert and append", []Edit{{At: 5000, Old: 100, New: Concat(Zeros(100), blocks(2, "new!"))}, {At: 9000, Old: 3, New: Text("abc")}, {At: size - 1, Old: 1, New: blocks(3, "end!")}}},
		{"remove", []Edit{{At: 5, Old: 1, New: Text("!")}, {At: 5000, Old: 100 + 2*diskBlock, New: Zeros(100)}, {At: 40000, Old: 3, New: Text("abc")}}},
		{"remove from the start", []Edit{{Old: diskBlock}}},
		{"remove and cut", []Edit{{At: 5000, Old: 2 * diskBlock}, {At: 40000, Old: size - 40000, New: Text("the end")}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			new := string(applyNaively([]byte(old), c.edits))
			p := onePlan(size, c.edits...)
			p.Inputs[0].Path = "m"
			r := rand.New(rand.NewPCG(uint64(size), uint64(len(c.edits))))
			outcomes := map[string]int{}
			for n, done := 1, false; !done; n++ {
				done = true // unless a round has more operations: those with an undo patch have
				for round := range rounds {
					disk := newDisk(map[string]string{"m": old, "config.json": oldConfig, "m.undo.mpatch": "spent"})
					o := InPlaceOptions{FS: disk}
					if round%4 == 0 { // it takes its time
						o.Undo = "m.undo.2.mpatch"
					}
					if round%3 == 0 {
						info, _ := disk.Lstat("config.json")
						o.Files, o.Spent = []Beside{{"config.json", info, []byte(oldConfig), []byte(newConfig)}}, "m.undo.mpatch"
						disk.count = 0
					}
					disk.dies = n
					_, err := InPlace(context.Background(), p, o)
					done = done && disk.count < n
					disk.losePower(r)
					if r.IntN(2) == 0 {
						disk.dies = 1 + r.IntN(60)
						Recover("m", disk)
						disk.losePower(r)
					}
					did, rerr := Recover("m", disk)
					if rerr != nil {
						t.Fatalf("operation %d: recovery after %v: %v", n, err, rerr)
					}
					disk.losePower(r) // what recovery reported must be on the disk
					got := disk.content("m")
					switch {
					case got == new && old != new:
						outcomes["new"]++
					case got == old:
						outcomes["old"]++
					default:
						t.Fatalf("operation %d: neither old nor new after %v; %s; first difference from old at %d, from new at %d of %d",
							n, err, did, differ(got, old), differ(got, new), len(got))
					}
					if err == nil && got != new {
						t.Fatalf("operation %d: success, and yet the old bytes", n)
					}
					if want := map[bool]string{true: newConfig, false: oldConfig}[got == new && o.Files != nil]; disk.content("config.json") != want {
						t.Fatalf("operation %d, after %v, %s: the file beside says %q, want %q", n, err, did, disk.content("config.json"), want)
					}
					if spent := disk.names["m.undo.mpatch"] == nil; spent && got == old || err == nil && o.Spent != "" && !spent {
						t.Fatalf("operation %d, after %v: the spent patch is gone: %v", n, err, spent)
					}
					if got == new && o.Undo != "" && !takesBack(disk, o.Undo, new, old) {
						t.Fatalf("operation %d, after %v: the new bytes, and no patch that takes them back", n, err)
					}
					if Unfinished("m", disk) {
						t.Fatalf("operation %d: the journal is there", n)
					}
				}
			}
			if outcomes["old"] == 0 || outcomes["new"] == 0 {
				t.Errorf("the test tests nothing: %v", outcomes)
			}
			t.Logf("%v", outcomes)
		})
	}
}

// takesBack reports whether a patch file makes the old text of the new one.
func takesBack(d *diskFS, name, new, old string) bool {
	if d.names[name] == nil {
		return false
	}
	f, err := ReadPatch(strings.NewReader(d.content(name)))
	if err != nil {
		return false
	}
	defer f.Close()
	got, err := io.ReadAll(f.Reverse("m").NewReader(0, strings.NewReader(new)))
	return err == nil && string(got) == old
}

// differ is where two texts begin to differ.
func differ(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// TestDiskModel holds the model against what it stands for.
func TestDiskModel(t *testing.T) {
	disk := newDisk(map[string]string{"m": strings.Repeat("a", diskBlock) + strings.Repeat("b", diskBlock) + "end"})
	f, _ := disk.Open(filepath.Clean("m"))
	if err := f.InsertRange(diskBlock, diskBlock); err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("a", diskBlock) + strings.Repeat("\x00", diskBlock) + strings.Repeat("b", diskBlock) + "end"
	if disk.content("m") != want {
		t.Error("insertion")
	}
	if hole, _ := f.NextHole(0); hole != diskBlock {
		t.Error("hole at", hole)
	}
	if data, _ := f.NextData(diskBlock); data != 2*diskBlock {
		t.Error("data at", data)
	}
	if err := f.CollapseRange(0, diskBlock); err != nil {
		t.Fatal(err)
	}
	if disk.content("m") != want[diskBlock:] {
		t.Error("collapse")
	}
	f.Sync()
	f.WriteAt(bytes.Repeat([]byte("x"), 600), 0)
	disk.losePower(rand.New(rand.NewPCG(1, 1)))
	if got := disk.content("m"); len(got) != len(want)-diskBlock || !strings.HasSuffix(got, "bend") {
		t.Error("power loss")
	}
}
