package schema

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/modelpatch/modelpatch"
	"github.com/modelpatch/modelpatch/artifact/diff"
	"github.com/modelpatch/modelpatch/artifact/policy"
	"github.com/modelpatch/modelpatch/artifact/rules"
	"github.com/modelpatch/modelpatch/internal/source"
	"github.com/modelpatch/modelpatch/patch"
	"github.com/modelpatch/modelpatch/position"
	"github.com/modelpatch/modelpatch/report"
	"github.com/modelpatch/modelpatch/schemes"
)

var update = flag.Bool("update", false, "write the schemas anew from the types of package report")

// reports are the objects that are printed, by the name of their schema.
var reports = map[string]struct {
	id    string
	value any
}{
	"inspect":  {report.SchemaInspect, report.Inspect{}},
	"plan":     {report.SchemaPlan, report.Plan{}},
	"verify":   {report.SchemaVerify, report.Verify{}},
	"check":    {report.SchemaCheck, report.Checked{}},
	"error":    {report.SchemaError, report.Error{}},
	"progress": {report.SchemaProgress, report.Progress{}}, // --progress=json
	"diff":     {report.SchemaDiff, report.Diff{}},
	"patch":    {patch.SchemaPatch, patch.PatchHeader{}}, // show --json
}

type object = map[string]any

// number is a report.Number: JSON has no infinities.
var number = object{"anyOf": []any{object{"type": "number"}, object{"enum": []any{"NaN", "Infinity", "-Infinity"}}}}

// words are the words that a field of a report is one of. A reader of a later version may meet others.
var words = func() map[string][]string {
	schemeOf := []string{
		report.SchemeLearned, report.SchemeSinusoidal, report.SchemeRope, report.SchemeAlibi, report.SchemeT5Bias, report.SchemeRelativeTable,
		report.SchemeRelativeSinusoid, report.SchemeDisentangled, report.SchemeConv, report.SchemeNone, report.SchemeUnknown,
	}
	beyond := []string{report.BeyondError, report.BeyondClamps, report.BeyondWrong, report.BeyondContinues, report.BeyondUnknown}
	expect := []string{report.ExpectSame, report.ExpectSameOnPrefix, report.ExpectChanged, report.ExpectUnknown}
	level := []string{report.LevelError, report.LevelWarning, report.LevelNote}
	format := []string{position.FormatONNX, position.FormatGGUF}
	return map[string][]string{
		"Inspect.format": format,
		"Inspect.kind": {
			report.KindModel, report.KindProjector, report.KindAdapter, report.KindImatrix, report.KindControlVector, report.KindVocabulary, report.KindOther,
		},
		"Length.beyond":          beyond,
		"Encoding.scheme":        schemeOf,
		"Encoding.form":          {report.FormKeys, report.FormTable, report.FormCache, report.FormRuntime, report.FormBaked},
		"Encoding.beyond":        beyond,
		"Reading.scheme":         schemeOf,
		"Evidence.kind":          {"architecture", "key", "fit", "structure"},
		"Parameters.layout":      {schemes.LayoutHalf, schemes.LayoutInterleaved, schemes.LayoutSinCos, schemes.LayoutCosSin, schemes.LayoutInterleavedCosSin},
		"Parameters.denominator": {schemes.DenominatorHalf, schemes.DenominatorHalfMinusOne},
		"Parameters.order":       {schemes.OrderEquivariant, schemes.OrderMask, schemes.OrderOperators},
		"Parameters.defaults":    {report.DefaultBase, report.DefaultRotaryDim, report.DefaultOriginalLength},
		"Scaling.type": {
			schemes.ScalingNone, schemes.ScalingLinear, schemes.ScalingNTK, schemes.ScalingDynamic, schemes.ScalingYaRN, schemes.ScalingLlama3,
			schemes.ScalingLongRoPE, schemes.ScalingProportional, schemes.ScalingResonance, schemes.ScalingCustom,
		},
		"Finding.level":        level,
		"Checked.level":        append([]string{report.LevelOK}, level...),
		"CheckedFacts.format":  format,
		"CheckedFacts.schemes": schemeOf,
		"Change.expect":        expect,
		"PatchHeader.expect":   expect,
		"Written.how":          {"new", "in-place", "patch"},
		"Verify.verdict": {
			report.VerdictSame, report.VerdictSameOnPrefix, report.VerdictChangedAsPlanned, report.VerdictConsistent, report.VerdictDifferent, report.VerdictBroken,
		},
		"Check.name": {
			report.CheckPlan, report.CheckStructure, report.CheckBytes, report.CheckTable, report.CheckAttention, report.CheckProperties, report.CheckSecondOpinion, report.CheckEngine,
		},
		"Check.verdict":       {report.CheckPass, report.CheckFail, report.CheckSkipped},
		"Check.inputs":        {"weights", "seeded"},
		"EncodingDiff.change": {report.DiffAdded, report.DiffRemoved, report.DiffChanged},
		"KeyDiff.change":      {report.DiffAdded, report.DiffRemoved, report.DiffChanged, report.DiffRetyped},
		"TensorDiff.change":   {report.DiffAdded, report.DiffRemoved, report.DiffResized, report.DiffRetyped, report.DiffBytes, report.DiffRenamed},
		"NodeDiff.change":     {report.DiffAdded, report.DiffRemoved, report.DiffRewired, report.DiffAttributes, report.DiffRenamed},
		"DeclaredDiff.change": {report.DiffAdded, report.DiffRemoved, report.DiffChanged},
		"DeclaredDiff.what":   {"input", "output", "type", "value", "description", "order", "function", "attribute"},
		"Progress.doing":      {"writing", "comparing"},
	}
}()

// among says of the schema of a string, or of several, that it is one of words.
func among(s object, words []string) {
	if len(words) == 0 {
		return
	}
	if s["type"] == "string" {
		s["enum"] = words
	}
	if items, ok := s["items"].(object); ok {
		among(items, words)
	}
	if parts, ok := s["anyOf"].([]any); ok {
		among(parts[0].(object), words)
	}
}

// asked are the fields that schemas were made of.
var asked = map[string]bool{}

// of is the schema of a Go type as package report writes it; shared types go into defs.
func of(t reflect.Type, defs object) object {
	switch t {
	case reflect.TypeFor[report.Number]():
		return number
	case reflect.TypeFor[report.Layers]():
		return object{"anyOf": []any{object{"const": "all"}, object{"type": "array", "items": object{"type": "integer"}}}}
	case reflect.TypeFor[json.RawMessage]():
		return object{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return object{"anyOf": []any{of(t.Elem(), defs), object{"type": "null"}}}
	case reflect.Slice:
		return object{"type": []any{"array", "null"}, "items": of(t.Elem(), defs)}
	case reflect.Array:
		return object{"type": "array", "items": of(t.Elem(), defs), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Map:
		return object{"type": []any{"object", "null"}, "additionalProperties": of(t.Elem(), defs)}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Int32, reflect.Uint64, reflect.Uint32:
		return object{"type": "integer"}
	case reflect.Float64, reflect.Float32:
		return object{"type": "number"}
	case reflect.Interface:
		return object{}
	}
	name := strings.ToLower(t.Name())
	if _, done := defs[name]; !done {
		defs[name] = nil // a type that holds itself
		defs[name] = fields(t, defs)
	}
	return object{"$ref": "#/$defs/" + name}
}

// fields is the schema of a struct. The contract may grow, so further properties are
// allowed.
func fields(t reflect.Type, defs object) object {
	properties, required := object{}, []any{}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		for i := range t.NumField() {
			f := t.Field(i)
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous && name == "" {
				walk(f.Type)
				continue
			}
			property, field := of(f.Type, defs), t.Name()+"."+name
			among(property, words[field])
			asked[field] = true
			properties[name] = property
			if options != "omitempty" {
				required = append(required, name)
			}
		}
	}
	walk(t)
	return object{"type": "object", "properties": properties, "required": required}
}

// TestSchemas: the schemas are those of the types.
func TestSchemas(t *testing.T) {
	for name, r := range reports {
		defs := object{}
		s := fields(reflect.TypeOf(r.value), defs)
		s["$schema"], s["$id"], s["title"] = "https://json-schema.org/draft/2020-12/schema", r.id, "modelpatch "+name
		s["properties"].(object)["schema"] = object{"const": r.id}
		s["properties"].(object)["version"] = object{"type": "string"}
		if len(defs) > 0 {
			s["$defs"] = defs
		}
		want, err := json.MarshalIndent(s, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, '\n')
		if *update {
			if err := os.WriteFile(name+".json", want, 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, ok := Text(name); !ok || !bytes.Equal(got, want) {
			t.Errorf("%s.json is not that of the types: go test ./artifact/schema -update", name)
		}
	}
	for field := range words {
		if !asked[field] {
			t.Errorf("no report has a field %s", field)
		}
	}
}

// TestWordsAreWhole: every word that package report has a name for is one of a field's, and a check, a reason or a
// written file that a package names by a word of its own has one of them as well.
func TestWordsAreWhole(t *testing.T) {
	known := map[string]bool{}
	for _, list := range words {
		for _, word := range list {
			known[word] = true
		}
	}
	named := regexp.MustCompile(`(?m)^(?:const )?\t*[A-Z]\w* += ("[^"]*")`)
	spelled := regexp.MustCompile(`(?:report\.Check\{Name: |Evidence\{Kind: |report\.Written\{.*How: |Inputs: |c\.(?:skip|step)\()("[^"]*")`)
	found := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		form := spelled
		if filepath.Dir(path) == filepath.Join("..", "..", "report") {
			form = named
		}
		for _, m := range form.FindAllSubmatch(text, -1) {
			word := strings.Trim(string(m[1]), `"`)
			if found++; !known[word] && !strings.HasPrefix(word, "modelpatch.") {
				t.Errorf("%s: no field of a report may be %q", path, word)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 60 {
		t.Errorf("only %d words were looked at", found)
	}
}

func compiled(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	text, ok := Text(name)
	if !ok {
		t.Fatalf("no schema %s", name)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(name, parsed); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fits holds a report, as it is printed, against its schema.
func fits(t *testing.T, name string, value any) {
	t.Helper()
	line, err := report.Line(value)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiled(t, name).Validate(parsed); err != nil {
		t.Errorf("%v\n%s", err, line)
	}
}

// TestRealOutput: what the library says of the models of testdata and the corpus fits.
func TestRealOutput(t *testing.T) {
	var paths []string
	for _, p := range []string{"../../testdata/*/*.gguf", "../../testdata/*/*.onnx", "../../../shared/corpus/*/*.gguf", "../../../shared/corpus/*/*.onnx"} {
		found, _ := filepath.Glob(p)
		paths = append(paths, found...)
	}
	if len(paths) < 10 {
		t.Fatalf("%d models", len(paths))
	}
	for i, path := range paths {
		f := rules.Read(t.Context(), path, modelpatch.OpenOptions{})
		found := rules.Look(f)
		f.Close()
		if f.Err != nil {
			continue
		}
		fits(t, "inspect", *f.Report)
		judged, err := (&policy.Policy{}).Judge(f, found)
		if err != nil {
			t.Fatal(err)
		}
		fits(t, "check", report.Checked{Schema: report.SchemaCheck, Path: report.Name(path), Level: report.LevelOK, Findings: judged, Facts: f.Summary()})
		if i%8 != 0 {
			continue
		}
		plan, err := modelpatch.Extend(t.Context(), path, modelpatch.ExtendOptions{ExtendOptions: position.ExtendOptions{Length: 4096}, Write: modelpatch.WriteOptions{DryRun: true}})
		if err == nil {
			fits(t, "plan", plan.Plan)
		}
		v, err := modelpatch.Verify(t.Context(), path, modelpatch.VerifyOptions{Before: path})
		if err == nil {
			fits(t, "verify", v)
		}
	}
	for _, pair := range [][2]string{{"gguf/llama-plain.gguf", "gguf/llama-llama3.gguf"}, {"gguf/gpt2-f32.gguf", "gguf/mpt-learned.gguf"}, {"onnx/gpt2-dy23.onnx", "onnx/llama-dy23.onnx"}} {
		d, err := diff.Files(t.Context(), "../../testdata/"+pair[0], "../../testdata/"+pair[1], modelpatch.OpenOptions{})
		if err != nil || d.Same {
			t.Fatal(err, d.Same)
		}
		fits(t, "diff", d)
	}
	longer := filepath.Join(t.TempDir(), "longer.gguf")
	if _, err := modelpatch.Extend(t.Context(), "../../testdata/gguf/llama-plain.gguf", modelpatch.ExtendOptions{ExtendOptions: position.ExtendOptions{Length: 4096}, Write: modelpatch.WriteOptions{Output: longer, PatchOnly: true}}); err != nil {
		t.Fatal(err)
	}
	p, err := source.OpenPatch(t.Context(), longer+".mpatch", source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	fits(t, "patch", p.PatchHeader)
	fits(t, "error", report.Error{Schema: report.SchemaError, Path: "m", Code: 3, Error: "x", Hints: []string{}})
}

// TestPolicySchema: what the schema of the policy takes, the reader takes, and the other
// way round.
func TestPolicySchema(t *testing.T) {
	s := compiled(t, "policy")
	for text, sound := range map[string]bool{
		"version: 1": true,
		"version: 1\nrules: {gguf-key-ignored: error, table-zero-rows: off}":                                       true,
		"version: 1\nfor: [{files: '*.gguf', expect: [{id: a, length: '>= 8192', scheme: [rope], base: 500000}]}]": true,
		"version: 1\nwaivers: [{rule: gguf-key-ignored, files: ['**'], reason: known, until: 2030-01-01}]":         true,
		"version: 2":            false,
		"version: 1\nrule: {}":  false,
		"version: 1\nfor: [{}]": false,
		"version: 1\nwaivers: [{rule: gguf-key-ignored, files: ['**'], reason: known}]": false,
		"version: 1\nrules: {gguf-key-ignored: fatal}":                                  false,
		"version: 1\nfor: [{files: '*', expect: [{id: a, length: long}]}]":              false,
		"version: 1\nfor: [{files: '*', expect: [{id: a, scheme: ropee}]}]":             false,
		"version: 1\nfor: [{files: '*', expect: [{id: a, format: [gguf, ggml]}]}]":      false,
	} {
		var node yaml.Node
		var value any
		if err := yaml.Unmarshal([]byte(text), &node); err != nil {
			t.Fatal(err)
		}
		if err := dates(&node).Decode(&value); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		parsed, _ := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err := s.Validate(parsed); (err == nil) != sound {
			t.Errorf("schema: %q: %v", text, err)
		}
		if _, err := policy.Parse("p.yaml", []byte(text), modelTime); (err == nil) != sound {
			t.Errorf("reader: %q: %v", text, err)
		}
	}
}

// TestPolicyWords: the words that the schema takes are those that reports have.
func TestPolicyWords(t *testing.T) {
	text, _ := Text("policy")
	var read struct {
		Defs struct {
			Expectation struct {
				Properties map[string]struct {
					AnyOf []struct {
						Enum  []string
						Items struct{ Enum []string }
					} `json:"anyOf"`
				}
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	all := func(*schemes.ScalingType) bool { return true }
	for field, want := range map[string][]string{"scheme": report.Schemes, "scaling": schemes.ScalingNames(all)} {
		got := read.Defs.Expectation.Properties[field].AnyOf
		if len(got) != 2 || !slices.Equal(got[0].Enum, want) || !slices.Equal(got[1].Items.Enum, want) {
			t.Errorf("%s: %v, want %v", field, got, want)
		}
	}
}

// modelTime is the day on which policies are read here.
var modelTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// dates makes days the strings that JSON has for them.
func dates(n *yaml.Node) *yaml.Node {
	if n.Tag == "!!timestamp" {
		n.Tag = "!!str"
	}
	for _, c := range n.Content {
		dates(c)
	}
	return n
}
