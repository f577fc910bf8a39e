package modelpatch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/internal/spelling"
	"github.com/modelpatch/modelpatch/report"
)

// InputError is the error of an input that is no model file that can be read
// (exit code 3).
type InputError struct {
	Path string
	What string
	Why  string
	Hint string
	Err  error
}

// Error says it in a line.
func (e *InputError) Error() string {
	return fmt.Sprintf("%s: %s: %s", report.Printable(ShownPath(e.Path)), e.What, e.Why)
}

// Unwrap returns the cause.
func (e *InputError) Unwrap() error { return e.Err }

// Hints returns what to do about it.
func (e *InputError) Hints() []string {
	if e.Hint == "" {
		return nil
	}
	return []string{e.Hint}
}

// headBytes is how much of a file is looked at to tell what it is.
const headBytes = 1024

// sniff reads a file's first bytes and names files that are known to be
// something else (facts/BAD-INPUTS D01–D07). Only regular files go on.
func sniff(path string) ([]byte, error) {
	f, info, err := regular.Open(path)
	if e, ok := errors.AsType[*regular.Error](err); ok {
		return nil, &InputError{Path: path, What: "cannot be opened", Why: e.Error(), Hint: hintFor(path, e.Mode)}
	}
	if err != nil {
		return nil, cannotOpen(path, err)
	}
	defer f.Close()
	head := make([]byte, min(info.Size(), headBytes))
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, cannotOpen(path, err)
	}
	head = head[:n]
	return head, notAModel(path, head)
}

// cannotOpen says why, and where a dangling link points.
func cannotOpen(path string, err error) error {
	if path == Stdin {
		return &InputError{Path: path, What: "cannot be opened", Why: "this command does not read standard input", Err: err, Hint: pipeHint}
	}
	why := err.Error()
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		why = p.Err.Error()
	}
	if target, lerr := os.Readlink(path); lerr == nil {
		why += ", a link to " + report.Printable(target)
	}
	hint := storeHint(path)
	if hint == "" && errors.Is(err, fs.ErrNotExist) {
		hint = absentHint(path)
	}
	return &InputError{Path: path, What: "cannot be opened", Why: why, Err: err, Hint: hint}
}

// absentHint says what of a path is not there, and what is there under a name like it.
func absentHint(path string) string {
	folder := filepath.Dir(path)
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return "there is no folder " + report.Printable(folder)
	}
	stem := func(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) } // equal endings make no names alike
	var stems []string
	name := map[string]string{}
	for _, e := range entries {
		s := stem(e.Name())
		if s == "" || strings.HasPrefix(s, ".") && !strings.HasPrefix(filepath.Base(path), ".") {
			continue // hidden ones are nobody's model: what is being written, baselines
		}
		if name[s] == "" || filepath.Ext(e.Name()) == filepath.Ext(path) {
			name[s] = e.Name()
		}
		stems = append(stems, s)
	}
	if near := name[spelling.Nearest(stem(filepath.Base(path)), stems)]; near != "" {
		return "did you mean " + report.Printable(filepath.Join(folder, near)) + "?"
	}
	return ""
}

// storeHint says how a file is named that lies in a store whose own addresses are not read; "" for
// other paths.
func storeHint(path string) string {
	scheme, _, ok := strings.Cut(path, "://")
	switch {
	case !ok:
		return ""
	case scheme == "s3" || scheme == "gs" || scheme == "az" || scheme == "abfs":
		return "name it by a presigned https:// address: aws s3 presign, gcloud storage sign-url, az storage blob generate-sas"
	case len(scheme) > 1 && !strings.ContainsAny(scheme, `/\`):
		return "addresses begin with https://, hf:// or oci://"
	}
	return ""
}

// pipeHint says why a model is not read from a pipe by most commands.
const pipeHint = "a pipe can be read once from front to back, and a model is read in many places: write it into a file first (inspect and check do so with -)"

// hintFor says what to do about what is no regular file: it names the models in a folder that was given in place of one.
func hintFor(path string, mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return pipeHint
	case !mode.IsDir():
		return ""
	}
	return FolderHint(path)
}

// FolderHint says which models are in a folder that was given in place of one, or what to make of
// weights in another format that are there.
func FolderHint(path string) string {
	const most = 3
	var found []string
	weights := ""
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if name := strings.ToLower(e.Name()); strings.HasSuffix(name, ".gguf") || strings.HasSuffix(name, ".onnx") {
			found = append(found, filepath.Join(path, e.Name()))
		} else if weights == "" && (slices.Contains([]string{".safetensors", ".pt", ".pth"}, filepath.Ext(name)) || strings.HasPrefix(name, "pytorch_model")) {
			weights = e.Name()
		}
	}
	switch {
	case err != nil:
		return "name the model file inside it"
	case len(found) == 0 && weights != "":
		return fmt.Sprintf("it has weights of PyTorch (%s): export them to ONNX (optimum-cli export onnx --model FOLDER OUT) or convert them to GGUF (convert_hf_to_gguf.py of llama.cpp)", report.Printable(weights))
	case len(found) == 0:
		return "name the file itself when its name ends otherwise"
	case len(found) > most:
		found = append(found[:most], fmt.Sprintf("and %d more", len(found)-most))
	}
	return "name the model file inside it: " + strings.Join(found, ", ")
}

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
