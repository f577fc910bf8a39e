package source

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/modelpatch/modelpatch/report"
)

// impostor is a kind of file that is met in place of a model.
type impostor struct {
	start string // first bytes
	at    int    // where they stand
	what  string
	hint  string
}

// impostors lists what is not a model, by its first bytes.
var impostors = []impostor{
	{"version https://git-lfs", 0, "a Git LFS pointer", "the model itself is elsewhere: git lfs pull"},
	{"tjgg", 0, "an old ggjt file", "convert the original model to GGUF with a current converter"},
	{"lmgg", 0, "an old ggml file (old llama.cpp, or whisper.cpp)", "convert the original model to GGUF with a current converter"},
	{"fmgg", 0, "an old ggmf file", "convert the original model to GGUF with a current converter"},
	{"algg", 0, "an old ggla file (LoRA)", "convert the original adapter to GGUF with a current converter"},
	{"\x28\xb5\x2f\xfd", 0, "a zstd stream", "decompress it first: zstd -d"},
	{"\x1f\x8b", 0, "a gzip stream", "decompress it first: gzip -d"},
	{"PK\x03\x04", 0, "a zip archive (or a PyTorch checkpoint)", "unpack it; checkpoints must be exported to ONNX or converted to GGUF"},
	{"\xfd7zXZ", 0, "an xz stream", "decompress it first: xz -d"},
	{"BZh", 0, "a bzip2 stream", "decompress it first: bzip2 -d"},
	{"ustar", 257, "a tar archive", "unpack it first"},
	{"\x89HDF", 0, "an HDF5 file (Keras)", "export the model to ONNX"},
	{"ORTM", 4, "an ONNX Runtime (ORT format) model", "use the .onnx file from which it was made"},
	{"TFL3", 4, "a TensorFlow Lite model", "export the model to ONNX"},
	{"\x93NUMPY", 0, "a NumPy array", ""},
	{"\x7fELF", 0, "an executable", ""},
	{"MZ", 0, "an executable", ""},
	{"%PDF", 0, "a PDF document", ""},
}

// notAModel names what a file is when it is known to be no model.
func notAModel(path string, head []byte) error {
	fault := func(what, hint string) error {
		return &InputError{Path: path, What: "not a model", Why: what, Hint: hint}
	}
	if len(head) == 0 {
		return fault("the file is empty", "download or copy it again")
	}
	for _, i := range impostors {
		if len(head) >= i.at && bytes.HasPrefix(head[i.at:], []byte(i.start)) {
			return fault(i.what+pointedSize(head), i.hint)
		}
	}
	text := strings.ToLower(strings.TrimLeft(strings.TrimPrefix(string(head), "\xef\xbb\xbf"), " \t\r\n"))
	switch {
	case strings.HasPrefix(text, "<!doctype html"), strings.HasPrefix(text, "<html"):
		return fault("an HTML page", "the download went to a web page: fetch the file itself")
	case strings.HasPrefix(text, "<?xml"), strings.HasPrefix(text, "<"):
		return fault("an XML document", "perhaps an error message of the server: fetch the file again")
	case strings.HasPrefix(text, "{\""), strings.HasPrefix(text, "{}"), strings.HasPrefix(text, "[{"), strings.HasPrefix(text, "{\n"), strings.HasPrefix(text, "{\r"), strings.HasPrefix(text, "{ "):
		return fault("a JSON document", "perhaps a configuration, or an error message of the server")
	case isSafetensors(head):
		return fault("a safetensors file", "export the model to ONNX, or convert it to GGUF")
	case isPickle(head):
		return fault("a Python pickle (PyTorch checkpoint)", "export the model to ONNX, or convert it to GGUF; pickles are never read, for they run code")
	}
	if isText(head) {
		return fault("a text file", "name the model itself")
	}
	return nil
}

// isText reports whether all of a file's first bytes are of a text. No model begins so: GGUF's magic is
// followed by a version, and a field of ONNX by a length.
func isText(head []byte) bool {
	if bytes.HasPrefix(head, []byte("GGUF")) || bytes.HasPrefix(head, []byte("FUGG")) {
		return false // what is wrong with it is told elsewhere
	}
	for at := 0; at < len(head); {
		r, n := utf8.DecodeRune(head[at:])
		if r == utf8.RuneError && n == 1 && (at+utf8.UTFMax <= len(head) || utf8.FullRune(head[at:])) || r < ' ' && !strings.ContainsRune("\t\n\r\f", r) || r == 0x7f {
			return false
		}
		at += n
	}
	return true
}

// pointedSize is the size that an LFS pointer states.
func pointedSize(head []byte) string {
	for line := range strings.Lines(string(head)) {
		if size, ok := strings.CutPrefix(strings.TrimSpace(line), "size "); ok && bytes.HasPrefix(head, []byte("version")) {
			return fmt.Sprintf(" of %d bytes to a file of %s bytes", len(head), report.Printable(size))
		}
	}
	return ""
}

// isSafetensors tells the length of a JSON header and its first bytes.
func isSafetensors(head []byte) bool {
	return len(head) > 10 && head[6] == 0 && head[7] == 0 && head[8] == '{' && head[9] == '"'
}

// isPickle tells protocols 2 to 5: PROTO, then the version.
func isPickle(head []byte) bool {
	return len(head) > 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5
}

// start quotes a file's first bytes.
func start(head []byte) string {
	return fmt.Sprintf("it starts with %q", head[:min(len(head), 8)])
}
