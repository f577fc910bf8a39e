package address

import (
	"strings"
	"testing"
)

func TestIs(t *testing.T) {
	for s, want := range map[string]bool{"https://h/m.gguf": true, "HTTPS://h/m": true, "hf://o/r/f": true, "oci://r/n:t": true, "http://localhost/m": true,
		"m.gguf": false, "C:/models/m.onnx": false, "s3://b/k": false, "https:/h/m": false, "": false, "-": false} {
		if got := Is(s); got != want {
			t.Errorf("Is(%q) = %v", s, got)
		}
	}
}

func TestShow(t *testing.T) {
	for s, want := range map[string]string{
		"https://b.s3.amazonaws.com/m.gguf?X-Amz-Signature=secret#x": "https://b.s3.amazonaws.com/m.gguf",
		"https://me:secret@host/m.onnx":                              "https://host/m.onnx",
		"https://host?sig=secret":                                    "https://host",
		"hf://o/r@main/a@b.gguf":                                     "hf://o/r@main/a@b.gguf",
		"oci://reg:5000/n:t#model-00001-of-00002.gguf":               "oci://reg:5000/n:t#model-00001-of-00002.gguf",
		"models/m@x?y.gguf":                                          "models/m@x?y.gguf",
	} {
		if got := Show(s); got != want {
			t.Errorf("Show(%q) = %q, want %q", s, got, want)
		}
	}
}

func TestSingle(t *testing.T) {
	for s, want := range map[string]bool{"https://h/m?X-Amz-Signature=1": true, "https://h/m?AWSAccessKeyId=a&Signature=b&Expires=1": true, "https://h/m?Signature=b": false, "https://h/m?X-Goog-Signature=1&x=y": true, "https://h/m?sr=b&sig=1": true,
		"https://h/m?sr=c&sig=1": false, "https://h/m": false, "https://h/m?download=true": false, "hf://o/r/m": false} {
		if got := Single(s); got != want {
			t.Errorf("Single(%q) = %v", s, got)
		}
	}
}

func TestBeside(t *testing.T) {
	for _, x := range []struct{ s, name, want string }{
		{"https://h/d/m.onnx", "m.onnx.data", "https://h/d/m.onnx.data"},
		{"https://h/d/m.onnx", "sub/a b%.data", "https://h/d/sub/a%20b%25.data"},
		{"https://h/d/m.onnx?sv=1&sig=x", "m.onnx.data", "https://h/d/m.onnx.data?sv=1&sig=x"},
		{"https://h/d/m-00001-of-00002.gguf?sig=x", "https://h/d/m-00002-of-00002.gguf", "https://h/d/m-00002-of-00002.gguf?sig=x"},
		{"hf://o/r@v1/onnx/m.onnx", "m.onnx_data", "hf://o/r@v1/onnx/m.onnx_data"},
		{"hf://o/r/m-00001-of-00002.gguf", "hf://o/r/m-00002-of-00002.gguf", "hf://o/r/m-00002-of-00002.gguf"},
		{"oci://r/n:t#m-00001-of-00002.gguf", "oci://r/n:t#m-00002-of-00002.gguf", "oci://r/n:t#m-00002-of-00002.gguf"},
		{"oci://r/n:t", "config.json", "oci://r/n:t#config.json"},
		{"https://h/d/m.onnx", "https://other/d/x", "https://other/d/x"},
	} {
		if got := Beside(x.s, x.name); got != x.want {
			t.Errorf("Beside(%q, %q) = %q, want %q", x.s, x.name, got, x.want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, x := range []struct{ s, want string }{
		{"hf://org/repo/model.gguf", "org/repo main model.gguf"},
		{"hf://org/repo@v1.0/onnx/model.onnx", "org/repo v1.0 onnx/model.onnx"},
		{"hf://org/repo@refs/pr/12/onnx/model.onnx", "org/repo refs/pr/12 onnx/model.onnx"},
		{"hf://org/repo@refs%2Fpr%2F12/model.onnx", "org/repo refs/pr/12 model.onnx"},
		{"oci://ghcr.io/org/name:tag", "ghcr.io org/name tag "},
		{"oci://localhost:5000/name", "localhost:5000 name latest "},
		{"oci://docker.io/ai/smollm2:135M#x.gguf", "registry-1.docker.io ai/smollm2 135M x.gguf"},
		{"oci://r/n@sha256:" + strings.Repeat("a", 64), "r n sha256:" + strings.Repeat("a", 64) + " "},
	} {
		f, err := Parse(x.s)
		got := f.Repo + " " + f.Revision + " " + f.Path
		if f.Scheme == OCI {
			got = f.Registry + " " + f.Name + " " + f.Reference + " " + f.Path
		}
		if err != nil || got != x.want {
			t.Errorf("Parse(%q) = %q, %v", x.s, got, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for s, why := range map[string]string{
		"https://me:secret@host/m.onnx": "password",
		"https:///m.onnx":               "names no server",
		"https://host/%zz?sig=secret":   "invalid URL escape",
		"hf://org/repo":                 "names no file",
		"hf://org/repo@/f":              "empty",
		"hf://org/../f":                 "leads out",
		"hf://org/repo/../../x":         "leads out",
		"hf://org/repo/f?x":             "character",
		"oci://name":                    "names no registry",
		"oci://r/Name:tag":              "no name of a repository",
		"oci://r/n:t/x":                 "neither a tag",
		"oci://r/n@sha256:12":           "neither a tag",
		"oci://r/../n:t":                "no name of a repository",
		"ftp://h/m":                     "scheme",
	} {
		_, err := Parse(s)
		if err == nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Parse(%q): %v, want %q", s, err, why)
		}
	}
}
