package source

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
)

// Stdin is the path that stands for standard input.
const Stdin = "-"

const (
	// maxUnpacked bounds what a compressed input may become, when OpenOptions
	// does not (facts/BAD-INPUTS §4).
	maxUnpacked = 64 << 30
	// maxWindow bounds a zstd stream's window: the library's default of 512 MiB
	// would be memory that a header asks for.
	maxWindow = 128 << 20
)

var (
	zstdMagic     = []byte("\x28\xb5\x2f\xfd")
	zstdSkippable = []byte("\x2a\x4d\x18") // after a byte of 0x50 to 0x5f
	gzipMagic     = []byte("\x1f\x8b")
)

// packing tells compressed input by its first bytes: "zstd", "gzip" or "".
func packing(head []byte) string {
	switch {
	case bytes.HasPrefix(head, zstdMagic), len(head) >= 4 && head[0]&0xf0 == 0x50 && bytes.HasPrefix(head[1:], zstdSkippable):
		return "zstd"
	case bytes.HasPrefix(head, gzipMagic):
		return "gzip"
	}
	return ""
}

// inspectStream inspects a model that cannot be read at random: standard input,
// or a compressed file. It is unpacked to a temporary file without a name,
// under the size limit; nothing of it counts until its end was read, where
// checksums stand.
func inspectStream(path string, r io.Reader, o Options) (report.Inspect, error) {
	fail := func(what string, err error) (report.Inspect, error) {
		return report.Inspect{}, &InputError{Path: path, What: what, Why: streamError(err), Err: err}
	}
	head := make([]byte, 4)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return fail("cannot be read", err)
	}
	packed := packing(head[:n])
	unpacked, err := unpack(packed, io.MultiReader(bytes.NewReader(head[:n]), r))
	if err != nil {
		return fail("broken "+packed+" stream", err)
	}
	file, size, err := spool(path, unpacked, o)
	if _, ours := errors.AsType[*InputError](err); ours {
		return report.Inspect{}, err
	}
	if OfMachine(err) {
		return report.Inspect{}, &InputError{Path: path, What: "cannot be unpacked", Why: streamError(err), Err: err, Hint: "it is unpacked to a temporary file, in the folder that TMPDIR names"}
	}
	if err != nil {
		return fail("broken "+packed+" stream", err)
	}
	defer file.Close()
	m, err := openReader(path, file, size)
	if err != nil {
		return report.Inspect{}, err
	}
	defer m.Close()
	if err := position.Assume(m, o.Assume); err != nil {
		return report.Inspect{}, err
	}
	return Describe(m, path, o), nil
}

// unpack returns the reader of what a stream holds.
func unpack(packed string, r io.Reader) (io.Reader, error) {
	switch packed {
	case "zstd":
		return zstd.NewReader(r, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	case "gzip":
		return gzip.NewReader(r)
	}
	return r, nil
}

// streamError says a decoder's complaint in the words that people search for.
func streamError(err error) string {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "truncated: the stream ends too early"
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return fmt.Sprintf("it asks for a window of more than %d MiB", maxWindow>>20)
	case errors.Is(err, zstd.ErrCRCMismatch), errors.Is(err, gzip.ErrChecksum):
		return "its checksum does not fit: the data are damaged"
	}
	return err.Error()
}

// spool copies a stream to an unlinked temporary file. What does not begin like
// a model stops it at once: a bomb is never unpacked.
func spool(path string, r io.Reader, o Options) (*os.File, int64, error) {
	limit := o.MaxUnpacked
	if limit <= 0 {
		limit = maxUnpacked
	}
	// ReadAll, unlike ReadFull, passes a decoder's unexpected end on as an error.
	head, err := io.ReadAll(io.LimitReader(r, HeadBytes))
	if err != nil {
		return nil, 0, err
	}
	if err := notAModel(path, head); err != nil {
		return nil, 0, err
	}
	if !IsGGUF(head) && !isProtobuf(head) {
		return nil, 0, &InputError{Path: path, What: "not a model", Why: "neither GGUF nor ONNX: " + start(head)}
	}
	file, err := os.CreateTemp("", "modelpatch-*")
	if err != nil {
		return nil, 0, err
	}
	os.Remove(file.Name())
	size, err := io.Copy(file, io.LimitReader(io.MultiReader(bytes.NewReader(head), r), limit+1))
	if err == nil && size > limit {
		err = &InputError{Path: path, What: "too large", Why: fmt.Sprintf("it unpacks to more than %d bytes", limit), Hint: "unpack it yourself, or raise the limit", Err: errLimit}
	}
	if err != nil {
		file.Close()
		return nil, 0, err
	}
	return file, size, nil
}

// openReader opens a model that was unpacked: it has one file.
func openReader(path string, r io.ReaderAt, size int64) (position.Model, error) {
	return OpenReader(context.Background(), r, size, path, nil)
}

// inspectPacked inspects a path that is standard input or a compressed file;
// ok is false for any other.
func inspectPacked(path string, o Options) (r report.Inspect, ok bool, err error) {
	if IsAddress(path) {
		return r, false, nil
	}
	if path == Stdin {
		r, err = inspectStream(path, os.Stdin, o)
		return r, true, err
	}
	f, _, err := regular.Open(path)
	if err != nil {
		return r, false, nil // the ordinary way says what is wrong
	}
	defer f.Close()
	head := make([]byte, 4)
	n, _ := io.ReadFull(f, head)
	if packing(head[:n]) == "" {
		return r, false, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return r, true, err
	}
	r, err = inspectStream(path, f, o)
	return r, true, err
}
