package patch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// PatchFile is a patch file that was read.
type PatchFile struct {
	PatchHeader
	old, new []Source // per edit
	spool    *os.File // holds them, when they are many
}

// bodyInMemory is how many bytes of a patch stay in memory; more go to a temporary
// file.
const bodyInMemory = 16 << 20

// editsPerByte bounds how many edits a byte of the compressed stream can tell:
// equal rows at equal distances come to two, edits that change nothing to
// thousands.
const editsPerByte = 16

// OpenPatch reads the patch file at path.
func OpenPatch(path string) (*PatchFile, error) {
	f, err := OS.Open(path)
	if err != nil {
		return nil, &InputError{path, err}
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, &InputError{path, err}
	}
	p, err := ReadPatch(io.NewSectionReader(f, 0, info.Size()))
	if err != nil {
		return nil, &InputError{path, err}
	}
	return p, nil
}

// Close lets go of the patch's bytes.
func (f *PatchFile) Close() error {
	if f.spool == nil {
		return nil
	}
	err := f.spool.Close()
	os.Remove(f.spool.Name()) // again, where an open file cannot be removed
	return err
}

// ReadPatch reads a patch file whole and believes it only when its checksum is
// right. Errors say what is wrong with it. Close it afterwards.
func ReadPatch(r io.Reader) (*PatchFile, error) {
	packed := &countingReader{r: r}
	z, err := zstd.NewReader(packed, zstd.WithDecoderMaxWindow(patchWindow), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	b := bufio.NewReaderSize(z, bufferSize)
	line, err := readLine(b)
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errors.New("the patch file is cut short: copy or download it again")
		}
		return nil, fmt.Errorf("not a patch file: %w", err)
	}
	if n := bytes.Count(line, []byte(",")); n > mostCommas {
		return nil, errors.New("patch file: its header has too many members")
	}
	f := new(PatchFile)
	if err := json.Unmarshal(line, &f.PatchHeader); err != nil || f.Schema != SchemaPatch {
		return nil, fmt.Errorf("not a patch file of this version (schema %q)", f.Schema)
	}
	if n := len(f.Edits); n > mostRanges || int64(n) > editsPerByte*packed.n {
		return nil, fmt.Errorf("patch file: it claims %d edits in %d bytes", n, packed.n)
	}
	total, err := f.check()
	if err != nil {
		return nil, fmt.Errorf("patch file: %w", err)
	}
	if err := f.readBody(b, total); err != nil {
		f.Close()
		return nil, fmt.Errorf("patch file: %w", err)
	}
	return f, nil
}

// countingReader counts the bytes that were read.
type countingReader struct {
	r io.Reader
	n int64
}

// Read is that of the reader inside.
func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
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

// check holds the header against itself, before anything is read by it, and
// returns how many bytes must follow.
func (f *PatchFile) check() (total int64, err error) {
	for _, e := range f.Edits {
		if e.Old < 0 || e.New < 0 || e.Old > MostPatched || e.New > MostPatched {
			return 0, fmt.Errorf("an edit of %d by %d bytes", e.Old, e.New)
		}
		if total += e.Old + e.New; total > MostPatched {
			return 0, fmt.Errorf("it claims more than %d bytes", int64(MostPatched))
		}
		f.old, f.new = append(f.old, Zeros(e.Old)), append(f.new, Zeros(e.New))
	}
	for i, d := range f.Data {
		if d[0] < 0 || d[0] >= d[1] || d[1] > f.Source.Size || i > 0 && d[0] <= f.Data[i-1][1] {
			return 0, errors.New("its ranges of tensor data are out of order")
		}
	}
	for i := range f.Edits {
		if i > 0 && f.Edits[i].At < f.Edits[i-1].At {
			return 0, errors.New("its edits are out of order")
		}
	}
	forth, back := f.Plan("x"), f.Reverse("x")
	if err := errors.Join(forth.Check(), back.Check()); err != nil {
		return 0, err
	}
	if forth.OutputSize(0) != f.Target.Size || back.OutputSize(0) != f.Source.Size {
		return 0, errors.New("its edits do not lead from one of its sizes to the other")
	}
	return total, nil
}

// readBody reads the edits' bytes.
func (f *PatchFile) readBody(b *bufio.Reader, total int64) error {
	body, err := f.store(b, total)
	if err != nil {
		return err
	}
	if _, err := b.ReadByte(); !errors.Is(err, io.EOF) {
		return errors.Join(errors.New("bytes after the last edit"), err)
	}
	at := int64(0)
	for i, e := range f.Edits {
		f.old[i], f.new[i] = Region(body, at, e.Old), Region(body, at+e.Old, e.New)
		at += e.Old + e.New
	}
	return nil
}

// store keeps n bytes in memory, or in a temporary file. It grows with what is
// there rather than with what is claimed.
func (f *PatchFile) store(r io.Reader, n int64) (io.ReaderAt, error) {
	if n <= bodyInMemory {
		body, err := io.ReadAll(io.LimitReader(r, n))
		if err == nil && int64(len(body)) < n {
			err = io.ErrUnexpectedEOF
		}
		return bytes.NewReader(body), err
	}
	var err error
	if f.spool, err = os.CreateTemp("", "modelpatch-*"); err != nil {
		return nil, err
	}
	os.Remove(f.spool.Name()) // open files live on without a name, on most systems
	_, err = io.CopyN(f.spool, r, n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return f.spool, err
}

// Plan is the change forward: the patch applied to the file at path.
func (f *PatchFile) Plan(path string) Plan {
	p := Plan{Inputs: []Input{{Path: path, Size: f.Source.Size}}, Outputs: []Output{{}}}
	for i, e := range f.Edits {
		p.Edits = append(p.Edits, Edit{At: e.At, Old: e.Old, New: f.new[i], Why: e.Why})
	}
	return p
}

// Reverse is the change back, of the patched file at path.
func (f *PatchFile) Reverse(path string) Plan {
	p := Plan{Inputs: []Input{{Path: path, Size: f.Target.Size}}, Outputs: []Output{{}}}
	shift := int64(0)
	for i, e := range f.Edits {
		p.Edits = append(p.Edits, Edit{At: e.At + shift, Old: e.New, New: f.old[i], Why: e.Why})
		shift += e.New - e.Old
	}
	return p
}
