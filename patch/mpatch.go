package patch

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// SchemaPatch identifies a patch file's header.
const SchemaPatch = "modelpatch.patch/1"

const (
	// patchWindow bounds the memory that a patch file may ask for.
	patchWindow = 128 << 20
	// surroundings is how much on either side of an edit identifies a file.
	surroundings = 64 << 10
	// longestHeader bounds the header line.
	longestHeader = 16 << 20
)

// PatchHeader is the first line of a patch file.
type PatchHeader struct {
	Schema string      `json:"schema"`
	Source PatchedFile `json:"source"` // the file before
	Target PatchedFile `json:"target"` // and after
	Change string      `json:"change"` // in words
	Edits  []PatchEdit `json:"edits"`  // in the order of their places
}

// PatchedFile identifies a file without reading all of it: SHA256 is of its
// size, its ends and the surroundings of every edit.
type PatchedFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// PatchEdit is an edit in a patch file: Old bytes at At give way to New ones.
type PatchEdit struct {
	At  int64  `json:"at"`
	Old int64  `json:"old"`
	New int64  `json:"new"`
	Why string `json:"why,omitempty"`
}

// WritePatch writes output i of the plan as a patch file: a zstd stream of the
// header line, then for each edit the replaced bytes and the new ones. in is
// the input's bytes. The same plan gives the same bytes.
func (p Plan) WritePatch(w io.Writer, i int, in io.ReaderAt, targetName, change string) error {
	edits := p.Edited(i)
	h := PatchHeader{Schema: SchemaPatch, Change: change, Edits: []PatchEdit{}}
	for _, e := range edits {
		h.Edits = append(h.Edits, PatchEdit{e.At, e.Old, sizeOf(e.New), e.Why})
	}
	input := p.Inputs[p.Outputs[i].Input]
	h.Source = PatchedFile{Name: filepath.Base(input.Path), Size: input.Size}
	h.Target = PatchedFile{Name: targetName, Size: p.OutputSize(i)}
	var err error
	if h.Source.SHA256, err = identify(in, input.Size, h.around(false)); err != nil {
		return err
	}
	if h.Target.SHA256, err = identify(p.View(i, in), h.Target.Size, h.around(true)); err != nil {
		return err
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
	if err != nil {
		return err
	}
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if _, err := z.Write(append(line, '\n')); err != nil {
		return err
	}
	for _, e := range edits {
		if _, err := io.Copy(z, Concat(Region(in, e.At, e.Old), orNothing(e.New)).Open()); err != nil {
			return err
		}
	}
	return z.Close()
}

func orNothing(s Source) Source {
	if s == nil {
		return Bytes(nil)
	}
	return s
}

// around are the edited ranges of the file before, or after.
func (h PatchHeader) around(after bool) [][2]int64 {
	var ranges [][2]int64
	var shift int64
	for _, e := range h.Edits {
		if after {
			ranges = append(ranges, [2]int64{e.At + shift, e.At + shift + e.New})
			shift += e.New - e.Old
		} else {
			ranges = append(ranges, [2]int64{e.At, e.At + e.Old})
		}
	}
	return ranges
}

// identify sums a file's ends, the ranges and what surrounds them.
func identify(f io.ReaderAt, size int64, ranges [][2]int64) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d\n", size)
	ranges = append([][2]int64{{0, 0}}, append(ranges, [2]int64{size, size})...)
	var done int64 // overlapping surroundings are read once
	for _, r := range ranges {
		first, end := max(done, r[0]-surroundings), min(size, r[1]+surroundings)
		if first >= end {
			continue
		}
		n, err := io.Copy(sum, io.NewSectionReader(f, first, end-first))
		if err == nil && n < end-first {
			err = errCut
		}
		if err != nil {
			return "", err
		}
		done = end
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// PatchFile is a patch file that was read.
type PatchFile struct {
	PatchHeader
	old, new [][]byte // per edit
}

// ReadPatch reads a patch file whole and believes it only when its checksum is
// right. Errors say what is wrong with it.
func ReadPatch(r io.Reader) (*PatchFile, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(patchWindow), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	b := bufio.NewReaderSize(z, bufferSize)
	line, err := readLine(b)
	if err != nil {
		return nil, fmt.Errorf("not a patch file: %w", err)
	}
	f := new(PatchFile)
	if err := json.Unmarshal(line, &f.PatchHeader); err != nil || f.Schema != SchemaPatch {
		return nil, fmt.Errorf("not a patch file of this version (schema %q)", f.Schema)
	}
	for _, e := range f.Edits {
		for _, part := range []struct {
			size int64
			list *[][]byte
		}{{e.Old, &f.old}, {e.New, &f.new}} {
			bytes, err := readClaimed(b, part.size)
			if err != nil {
				return nil, fmt.Errorf("patch file: %w", err)
			}
			*part.list = append(*part.list, bytes)
		}
	}
	if _, err := b.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("patch file: %w", errors.Join(errors.New("bytes after the last edit"), err))
	}
	return f, nil
}

func readLine(b *bufio.Reader) ([]byte, error) {
	var line []byte
	for len(line) < longestHeader {
		part, err := b.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			return line, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
	return nil, errors.New("its header has no end")
}

// readClaimed reads n bytes, growing with what is there rather than with what
// is claimed.
func readClaimed(r io.Reader, n int64) ([]byte, error) {
	if n < 0 {
		return nil, errors.New("negative size")
	}
	b, err := io.ReadAll(io.LimitReader(r, n))
	if err == nil && int64(len(b)) < n {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// Plan is the change forward: the patch applied to the file at path.
func (f *PatchFile) Plan(path string) Plan {
	p := Plan{Inputs: []Input{{Path: path, Size: f.Source.Size}}, Outputs: []Output{{Name: f.Target.Name}}}
	for i, e := range f.Edits {
		p.Edits = append(p.Edits, Edit{At: e.At, Old: e.Old, New: Bytes(f.new[i]), Why: e.Why})
	}
	return p
}

// Reverse is the change back, of the patched file at path.
func (f *PatchFile) Reverse(path string) Plan {
	p := Plan{Inputs: []Input{{Path: path, Size: f.Target.Size}}, Outputs: []Output{{Name: f.Source.Name}}}
	for i, r := range f.around(true) {
		p.Edits = append(p.Edits, Edit{At: r[0], Old: r[1] - r[0], New: Bytes(f.old[i]), Why: f.Edits[i].Why})
	}
	return p
}

// Matches tells whether a file is the one before the patch or the one after.
func (f *PatchFile) Matches(file io.ReaderAt, size int64) (before, after bool, err error) {
	for _, side := range []struct {
		of   PatchedFile
		late bool
		is   *bool
	}{{f.Source, false, &before}, {f.Target, true, &after}} {
		if size != side.of.Size {
			continue
		}
		sum, err := identify(file, size, f.around(side.late))
		if err != nil {
			return false, false, err
		}
		*side.is = sum == side.of.SHA256
	}
	return before, after, nil
}

// writeUndo writes a patch file that can take the edit back.
func (t *placed) writeUndo(p Plan, file int, o InPlaceOptions) (Undo, error) {
	output := 0
	for i, out := range p.Outputs {
		if out.Input == file {
			output = i
		}
	}
	f, err := t.fs.Create(o.Undo)
	if err != nil {
		return Undo{}, &OutputError{Op: "create", Path: o.Undo, Err: err}
	}
	w := &offsetWriter{file: f}
	name := filepath.Base(t.path)
	err = p.WritePatch(w, output, t.file, name, o.Change)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = syncDir(t.fs, filepath.Dir(o.Undo))
	}
	if err != nil {
		return Undo{}, errors.Join(&OutputError{Op: "write", Path: o.Undo, Err: err}, t.fs.Remove(o.Undo))
	}
	return Undo{o.Undo, w.at}, nil
}

// offsetWriter writes a File from its start.
type offsetWriter struct {
	file File
	at   int64
}

func (w *offsetWriter) Write(p []byte) (int, error) {
	n, err := w.file.WriteAt(p, w.at)
	w.at += int64(n)
	return n, err
}
