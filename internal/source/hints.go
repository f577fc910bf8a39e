package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/internal/spelling"
	"github.com/modelpatch/modelpatch/report"
)

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
