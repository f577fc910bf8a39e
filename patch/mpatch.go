package patch

import (
	"bytes"
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
	// MostPatched is how many replaced and new bytes a patch file may hold: its
	// reader stores them, and a few bytes of zstd can claim any number.
	MostPatched = 4 << 30
)

// PatchHeader is the first line of a patch file.
type PatchHeader struct {
	Schema string      `json:"schema"`
	Source PatchedFile `json:"source"` // the file before
	Target PatchedFile `json:"target"` // and after
	Change string      `json:"change"` // in words
	Edits  []PatchEdit `json:"edits"`  // in the order of their places
	// Data are ranges [first, end) of the source that hold tensor data, and
	// Outside is the SHA-256 of every other byte that stays.
	Data    [][2]int64 `json:"data"`
	Outside string     `json:"outside"`
	// Around are the SHA-256 of the tensor data that stays within 64 KiB of the
	// edits; edits whose surroundings meet have one together.
	Around []string `json:"around"`
	// Replace tells that the file was replaced as a whole where others are
	// changed as they lie; see InPlaceOptions.
	Replace bool `json:"replace,omitempty"`
	// Beside are numbers in files beside the source that the same change gave
	// other values. What the patch itself holds is the source alone.
	Beside []PatchBeside `json:"beside,omitempty"`
	// Expect is what the change promises of the model's outputs (report.Expectations);
	// "" where it was made by a program that did not say.
	Expect string `json:"expect,omitempty"`
	// Request is the verb with all options as a plan has it (report.Request), by which the change can be
	// made again; null where no verb made it.
	Request json.RawMessage `json:"request,omitempty"`
}

// Moves returns how many edits move what follows them: a file can be changed in place by one at the most (InPlace).
func (h *PatchHeader) Moves() (n int) {
	for _, e := range h.Edits {
		if e.New != e.Old && e.At+e.Old != h.Source.Size {
			n++
		}
	}
	return n
}

// Bytes returns how many bytes the edits remove, and how many they put there.
func (h *PatchHeader) Bytes() (old, fresh int64) {
	for _, e := range h.Edits {
		old, fresh = old+e.Old, fresh+e.New
	}
	return old, fresh
}

// PatchBeside is a number in a JSON file beside the patched one, as it was
// written there before the change and after.
type PatchBeside struct {
	Name    string `json:"name"`    // base name of the file
	Pointer string `json:"pointer"` // RFC 6901
	Old     string `json:"old"`
	New     string `json:"new"`
}

// PatchedFile is a file before or after a change. SHA256 is of all of it, and
// there only when that was asked for.
type PatchedFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"`
}

// PatchEdit is an edit in a patch file: Old bytes at At give way to New ones.
type PatchEdit struct {
	At  int64  `json:"at"`
	Old int64  `json:"old"`
	New int64  `json:"new"`
	Why string `json:"why,omitempty"`
}

// PatchOptions say what a patch file tells besides the edits.
type PatchOptions struct {
	Target     string     // base name of the file after the change; "": as before
	Change     string     // the change in words
	Data       [][2]int64 // ranges of the input that hold tensor data
	FullDigest bool       // SHA-256 of all of both files as well
	Replace    bool       // see PatchHeader
	Beside     []PatchBeside
	Expect     string          // see PatchHeader
	Request    json.RawMessage // see PatchHeader
}

// WritePatch writes output i of the plan as a patch file: a zstd stream of the
// header line, then for each edit the replaced bytes and the new ones. in is
// the input's bytes. The same plan and options give the same bytes.
func (p Plan) WritePatch(w io.Writer, i int, in io.ReaderAt, o PatchOptions) error {
	h, err := p.patchHeader(i, in, o)
	if err != nil {
		return err
	}
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if len(line) >= longestHeader || bytes.Count(line, []byte(",")) > mostCommas {
		return errors.New("too many edits and tensors for a patch file")
	}
	z, err := zstd.NewWriter(w, encoderOptions(p.patchPayload(i))...)
	if err != nil {
		return err
	}
	if _, err := z.Write(append(line, '\n')); err != nil {
		return err
	}
	for _, e := range p.Edited(i) {
		if _, err := io.Copy(z, Concat(Region(in, e.At, e.Old), orNothing(e.New)).Open()); err != nil {
			return err
		}
	}
	return z.Close()
}

func (p Plan) patchHeader(i int, in io.ReaderAt, o PatchOptions) (PatchHeader, error) {
	input := p.Inputs[p.Outputs[i].Input]
	h := PatchHeader{Schema: SchemaPatch, Change: o.Change, Replace: o.Replace, Beside: o.Beside, Expect: o.Expect, Request: o.Request, Edits: []PatchEdit{}, Data: joined(o.Data, input.Size),
		Source: PatchedFile{Name: filepath.Base(input.Path), Size: input.Size},
		Target: PatchedFile{Name: o.Target, Size: p.OutputSize(i)}}
	if h.Target.Name == "" {
		h.Target.Name = h.Source.Name
	}
	held := int64(0)
	for _, e := range p.Edited(i) {
		h.Edits = append(h.Edits, PatchEdit{e.At, e.Old, sizeOf(e.New), e.Why})
		held += e.Old + sizeOf(e.New)
	}
	if len(h.Edits) > mostRanges {
		return h, &RefusedError{input.Path, fmt.Sprintf("the change has %d edits, too many for a patch file", len(h.Edits)), writeNewInstead}
	}
	if held > MostPatched {
		return h, &RefusedError{input.Path, "the change replaces too many bytes for a patch file", writeNewInstead}
	}
	var err error
	if h.Outside, err = h.outside(in, false); err != nil {
		return h, err
	}
	if h.Around, err = h.around(in, false); err != nil {
		return h, err
	}
	if o.FullDigest {
		if h.Source.SHA256, err = sumOf(io.NewSectionReader(in, 0, input.Size), input.Size); err != nil {
			return h, err
		}
		if h.Target.SHA256, err = sumOf(p.NewReader(i, in), h.Target.Size); err != nil {
			return h, err
		}
	}
	return h, nil
}

func orNothing(s Source) Source {
	if s == nil {
		return Bytes(nil)
	}
	return s
}

// smallPatch is the payload up to which a patch is compressed with small
// tables: to set up the usual ones takes longer than everything else.
const smallPatch = 1 << 16

// encoderOptions are those of a patch file, which depend on its content alone.
func encoderOptions(payload int64) []zstd.EOption {
	options := []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true)}
	if payload <= smallPatch {
		return append(options, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(smallPatch), zstd.WithLowerEncoderMem(true))
	}
	return append(options, zstd.WithWindowSize(1<<20))
}

// patchPayload is how many old and new bytes the patch of input i holds.
func (p Plan) patchPayload(i int) (n int64) {
	for _, e := range p.Edited(i) {
		n += e.Old
		if e.New != nil {
			n += e.New.Size()
		}
	}
	return n
}
