"""Faults that are put into the code one by one: where a mistake would cost a user numbers, lengths, files or a gate.

Each is (name, file, before, after, packages, costs). before stands in the file once; the tests of the packages, that of the file's
first, must notice. The first 39 are of the kinds that survived when the tests were first tried by faults.
"""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    name: str
    file: str
    before: str
    after: str
    costs: str  # what a user would lose
    packages: tuple[str, ...] = ()  # whose tests must notice; the file's own without any
    equivalent: str = ""  # why nothing can notice


C, V, S = "internal/change", "internal/verdict", "schemes"
OP, GP = "position/onnxpos", "position/ggufpos"

FIRST = [
    Fault("data-input", f"{C}/data.go", " && !isInput(plan, path) {", " {", "a data file that the change reads is told to be left over, to be removed"),
    Fault("layers-last", "internal/ranges/ranges.go", "for i := a; i <= b; i++ {", "for i := a; i < b; i++ {", "--layers 0-11 changes layers 0 to 10"),
    Fault("layers-most", "internal/ranges/ranges.go", "b < a || b > most {", "b < a || b > most+1 {", "--layers names a layer that is not there, and nothing says so"),
    Fault("buckets-short", f"{OP}/relative/rebucket.go", "values[i] = int64(bucket(i - far))", "values[i] = int64(bucket(i - far + 1))", "every distance has its neighbour's bias"),
    Fault("buckets-far", f"{OP}/relative/rebucket.go", 'l.Step("Min", l.Constant("modelpatch/farthest", int64(far)))', 'l.Step("Min", l.Constant("modelpatch/farthest", int64(far/2)))', "far distances have the bias of nearer ones"),
    Fault("bake-opset", f"{OP}/waves/bake.go", "if b.g.File.Opsets[\"\"] < opsetWhere {", "if b.g.File.Opsets[\"\"] < 1 {", "a graph of opset 8 gets operators that it does not have"),
    Fault("bake-rebucket-end", f"{OP}/relative/rebucket.go", 'l.Constant("modelpatch/end", int64(far)+1), l.At}', 'l.Constant("modelpatch/end", int64(far)), l.At}', "baked buckets give longer input the last bias in silence"),
    Fault("operators-scale", f"{OP}/rotary/operators.go", 'a != nil && a.F != 0 && a.F != 1 {', 'a != nil && a.F < 0 {', "an operator whose positions are scaled becomes one whose are not"),
    Fault("operators-packed", f"{OP}/rotary/operators.go", 'if n.Int("is_packed_batching", 0) != 0 {', "if false {", "an operator that packs its batches becomes one that does not"),
    Fault("operators-opset", f"{OP}/rotary/operators.go", 'set == "standard" && v < opsetRotary {', 'set == "standard" && v < 0 {', "a graph of opset 18 gets RotaryEmbedding of ai.onnx, which it does not have"),
    Fault("like-lists", "position/like.go", "o.ShortFactors, o.LongFactors = s.ShortFactor, s.LongFactor", "o.ShortFactors, o.LongFactors = s.ShortFactor, s.ShortFactor", "rope --like takes one of LongRoPE's two lists twice"),
    Fault("like-original", "position/like.go", "\to.SetParameters(taken)\n", "\ttaken.OriginalLength = 0\n\to.SetParameters(taken)\n", "rope --like scales from another length than the other model"),
    Fault("latent-shape", f"{GP}/attention/latent.go", "\tif !fits {\n", "\tif false {\n", "weights of DeepSeek's attention that do not fit are read past their rows"),
    Fault("latent-turned", f"{GP}/attention/latent.go", "query[p] = append(append(make([]float64, 0, dim), row[nope:]...), row[:nope]...)", "query[p] = append(make([]float64, 0, dim), row...)", "verify runs DeepSeek's attention with the wrong part turned"),
    Fault("new-fault", f"{C}/change.go", "if err := newFault(m, d.faulty); err != nil {", "if err := error(nil); err != nil {", "a change that makes a file that engines refuse is written"),
    Fault("new-fault-rule", f"{C}/faults.go", "func(o report.Finding) bool { return o.Rule == f.Rule }) {", "func(o report.Finding) bool { return true }) {", "a file with one fault may get any other"),
    Fault("replay-decisions", f"{V}/nearest.go", "case !sameChanges(changes, plan.Changes):", "case false:", "a plan that was edited by hand is taken for that of the file"),
    Fault("replay-lengths", f"{V}/nearest.go", "if len(a) != len(b) || len(a) == 0 {", "if len(a) == 0 {", "nothing: lists of two lengths are not the same as JSON either", equivalent="what follows compares the lists as JSON, which two lengths make different"),
    Fault("reference-past", "verify/reference/reference.go", "r.turned(h.Query, r.ahead, t.Past-r.ahead), r.turned(", "r.turned(h.Query, r.ahead, -r.ahead), r.turned(", "verify turns queries of a cache as if they were the first"),
    Fault("reference-cached", "verify/reference/reference.go", "\t\tif p < from {\n", "\t\tif p < 0 {\n", "verify turns keys of a cache twice"),
    Fault("reference-bias-past", "verify/reference/reference.go", "h.Head%max(a.Heads, 1), query+t.Past, k, t.Keys)", "h.Head%max(a.Heads, 1), query, k, t.Keys)", "verify takes the bias of another distance where there is a cache"),
    Fault("blocked-future", "verify/blocked/attend.go", "seen = min(m, max(query+1-first, 0))", "seen = min(m, max(query+2-first, 0))", "attention of the verifier sees one key of the future"),
    Fault("blocked-scale", "verify/blocked/attend.go", "w.query[i] = x * h.Scale", "w.query[i] = x", "attention of the verifier is not scaled"),
    Fault("blocked-sink", "verify/blocked/attend.go", "w.highest[q], w.total[q] = x, 1", "w.highest[q], w.total[q] = x, 0", "attention sinks count for nothing"),
    Fault("axes-inner", "onnx/axes/products.go", "if !c.l.unite(c, a[innerA], b[innerB]) && c.isData(0) && c.isData(1) {", "if c.l.unite(c, a[innerA], b[innerB]); false {", "a model whose positions were not followed is told to have no encoding"),
    Fault("axes-laid", "onnx/axes/products.go", "if len(x) > 0 && len(y) > 0 && !c.l.unite(c, x, y) && c.isData(0) && c.isData(1) {", "if len(x) > 0 && len(y) > 0 && !c.l.unite(c, x, y) && false {", "a model whose positions were not followed is told to have no encoding"),
    Fault("stated-length", f"{C}/extend.go", "case l.Stated != nil && *l.Stated != length:", "case false:", "a new file that states another length than was asked for is written"),
    Fault("capacity-length", f"{C}/extend.go", "case l.Capacity != nil && *l.Capacity < length && ", "case false && ", "a new file that counts less far than was asked for is written"),
    Fault("roberta-offset", "internal/sidecar/sidecar.go", "if v < r.From || v > r.From+maxOffset {", "if v != r.From {", "config.json of RoBERTa (514 for 512) does not follow its model"),
    Fault("sidecar-offset-kept", "internal/sidecar/sidecar.go", "to += v - r.From", "to += 0", "config.json of RoBERTa loses the two positions of its padding"),
    Fault("budget-spent", "onnx/eval/budget.go", "if b.spent > b.most {", "if b.spent > b.most*1000 {", "a hostile graph is evaluated for hours"),
    Fault("gemm-transposed", "onnx/eval/products.go", "right = transposed(right, n, k)", "right = transposed(right, k, n)", "Gemm with a transposed weight gives other numbers"),
    Fault("gemm-beta", "onnx/eval/products.go", "sum += beta * bias.Number(", "sum += beta * beta * bias.Number(", "Gemm with beta gives other numbers"),
    Fault("undo-unsynced", "patch/undo.go", "\t\terr = f.Sync()\n", "\t\terr = nil\n", "a crash leaves an undo patch without content"),
    Fault("output-unsynced", "patch/writenew.go", "if err := out.file.Sync(); err != nil {", "if err := error(nil); err != nil {", "a crash leaves a new model without content under its name"),
    Fault("journal-unsynced", "patch/placed.go", "\t\tstep(f.Sync())\n", "", "a crash leaves a changed file and a journal without content"),
    Fault("position-table-offset", f"{OP}/table.go", "Dim: use.share.Columns, Offset: offset}", "Dim: use.share.Columns}", "rows of RoBERTa's table are counted from the padding row"),
    Fault("cut-bound", "position/extend.go", "e.Capacity > x.present+x.beside || e.Capacity <= x.counts {", "e.Capacity > x.present+x.beside || e.Capacity < x.counts {", "nothing: a table of just the wanted length is cut to itself", equivalent="cutting a table to the rows that it has stores the same rows; compare ends before that where it is the one that bounds"),
    Fault("shorter-refusal", "position/extend.go", "case n < present && !x.o.Shorter:", "case false:", "a shorter length than the model has is taken without being asked for"),
]

MORE = [
    # Numbers.
    Fault("yarn-low", f"{S}/scaling_yarn.go", "low, high = math.Floor(low), math.Ceil(high)", "low, high = math.Ceil(low), math.Floor(high)", "YaRN's ramp is narrower than transformers'"),
    Fault("yarn-ends", f"{S}/scaling_yarn.go", "low, high = max(low, 0), min(high, float64(dim-1))", "low, high = max(low, 0), min(high, float64(dim/2-1))", "YaRN's ramp ends elsewhere than transformers'"),
    Fault("yarn-blend", f"{S}/scaling_yarn.go", "f[i] = f[i]/r.Scaling.factor()*g + f[i]*(1-g)", "f[i] = f[i]/r.Scaling.factor()*(1-g) + f[i]*g", "YaRN scales fast frequencies and keeps slow ones"),
    Fault("yarn-amplitude", f"{S}/scaling_yarn.go", "return 0.1*k*math.Log(factor) + 1", "return 0.1*k*math.Log2(factor) + 1", "YaRN's amplitude is another"),
    Fault("yarn-turns", f"{S}/scaling_yarn.go", "(turns*2*math.Pi)", "(turns*math.Pi)", "YaRN's ramp lies at other frequencies"),
    Fault("llama3-low", f"{S}/scaling_llama3.go", "case turns < low:", "case turns > low:", "Llama 3 divides the wrong frequencies"),
    Fault("llama3-blend", f"{S}/scaling_llama3.go", "return (1-g)*f/s.factor() + g*f", "return g*f/s.factor() + (1-g)*f", "Llama 3's middle frequencies are blended the other way"),
    Fault("longrope-list", f"{S}/scaling_longrope.go", "if s.isLong(length) && s.LongFactor != nil || s.ShortFactor == nil {", "if !s.isLong(length) && s.LongFactor != nil || s.ShortFactor == nil {", "LongRoPE uses the long list for short input"),
    Fault("longrope-divides", f"{S}/scaling_longrope.go", "f[i] /= divisor", "f[i] *= divisor", "LongRoPE multiplies where it should divide"),
    Fault("longrope-amplitude", f"{S}/scaling_longrope.go", "return math.Sqrt(1 + math.Log(factor)/math.Log(float64(original)))", "return math.Sqrt(math.Log(factor) / math.Log(float64(original)))", "LongRoPE's amplitude is another"),
    Fault("longrope-use", f"{S}/scaling_longrope.go", "if list == ListLong {", "if list == ListShort {", "rope --use long takes the short list"),
    Fault("ntk-base", f"{S}/scaling_ntk.go", "math.Pow(factor, d/(d-2))", "math.Pow(factor, d/(d-1))", "NTK's base is another"),
    Fault("dynamic-short", f"{S}/scaling_dynamic.go", "float64(max(length, original))", "float64(length)", "dynamic NTK scales input that is shorter than the original length"),
    Fault("alibi-slopes", f"{S}/alibi.go", "return alibiSlope(head, a.Heads, orDefault(a.MaxBias, DefaultMaxBias))", "return alibiSlope(head+1, a.Heads, orDefault(a.MaxBias, DefaultMaxBias))", "every head has its neighbour's slope"),
    Fault("window-end", f"{S}/attending.go", "query-key < w.Positions", "query-key <= w.Positions", "verify lets a window be a position too long"),
    Fault("window-mask", f"{OP}/attention/narrow.go", "-int64(w.Positions)", "-int64(w.Positions)-1", "window shows a key too many"),
    Fault("window-both-sides", f"{OP}/attention/narrow.go", "if causal {", "if !causal {", "windows of encoders end on one side alone"),
    Fault("window-narrower", f"{OP}/attention/window.go", "b.Positions < a.Positions {", "b.Positions > a.Positions {", "of two windows of an attention the wider one is told"),
    Fault("window-first-keys", f"{OP}/attention/window.go", "\t\tcount++\n", "", "a mask's first keys are told one too few"),
    Fault("window-causal", f"{OP}/attention/attention.go", "max(next, last) < trace.MaskedBelow", "last < trace.MaskedBelow", "encoders with a window are told to be causal"),
    Fault("window-all-slide", "position/ggufpos/attention/window.go", "gguf.Uint32(0)", "gguf.Uint32(1)", "llama.cpp gives no layer the window"),
    Fault("buckets-sign", f"{S}/buckets.go", "\t\tif relative > 0 {\n", "\t\tif relative >= 0 {\n", "T5's bucket of distance 0 is that of keys ahead"),
    Fault("buckets-single", f"{S}/buckets.go", "if distance < single {", "if distance <= single {", "nothing: the first shared bucket begins at that distance", equivalent="the logarithm of one is no step: both give the same bucket"),
    Fault("buckets-last", f"{S}/buckets.go", "n-single, false), n-1)", "n-single, false), n-2)", "T5's farthest distances have the bucket before the last"),
    Fault("rotary-apply", f"{S}/rotary.go", "LayoutInterleaved", "LayoutHalf", "interleaved and half rotations are mixed up"),
    # Lengths.
    Fault("length-least", "position/summary.go", "case e.Capacity > 0 && (least == 0 || e.Capacity < least):", "case e.Capacity > 0 && (least == 0 || e.Capacity > least):", "of two tables the longer one is told to end the model"),
    Fault("length-stated-onnx", "position/summary.go", "least, out.Beyond = *n, report.BeyondError\n\t}\n\tif f", "least = *n\n\t}\n\tif f", "what happens beyond a fixed input is told wrong"),
    Fault("length-end", "position/summary.go", "if n, _ := f.End(); n > 0 && (least == 0 || n < least) {", "if n, _ := f.End(); n < 0 {", "a graph that ends before its table is told to reach as far as that"),
    Fault("extend-enough", "position/extend.go", "enough = enough && e.Capacity >= x.o.Length", "enough = enough && e.Capacity > x.o.Length", "a model of just the wanted length is not 'already' that"),
    Fault("extend-sinusoid-offset", "position/extend.go", "\t\t\tscheme.Rows = x.counts + scheme.Offset\n\t\t}\n\t\treturn x.same", "\t\t\tscheme.Rows = x.counts\n\t\t}\n\t\treturn x.same", "a sinusoidal table with padding rows is short of them"),
    Fault("extend-slides", "position/extend.go", "return ok && w.Window().Positions > 0 && x.others(i)", "return ok && w.Window().Positions < 0 && x.others(i)", "rotations of sliding windows are scaled, too"),
    Fault("extend-ranges", "position/extend.go", "int64(x.o.Length) > MaxLength {", "int64(x.o.Length) > 1<<62 {", "a length beyond all bounds is taken"),
    Fault("grid-multiple", "position/grid.go", "side < patch || side%patch != 0 {", "side < patch {", "a picture that patches do not divide is taken, and cut in silence"),
    Fault("rows-repeat", f"{S}/rows.go", "const DefaultGrow = GrowTile", "const DefaultGrow = GrowZero", "the default method is another", ("schemes", "position")),
    Fault("rebase-explains", "position/rebase.go", "return math.Abs(a-b) <= formulaWithin*math.Abs(b)+still", "return true", "another base is given to frequencies that do not follow the formula"),
    Fault("rescale-factor", "position/rescale.go", "case o.Factor != 0 && !(o.Factor >= 1):", "case false:", "a factor below 1 is taken"),
    Fault("rescale-bounds", "position/rescale.go", "case fast != 0 && fast <= slow:", "case false:", "YaRN with its bounds the wrong way round is written"),
    # Writes.
    Fault("write-check", "patch/writenew.go", "return w.o.Check(w.outputs[0].path)", "return nil", "a new file is not looked at before it gets its name"),
    Fault("write-force", f"{C}/parts.go", "!(errors.Is(err, fs.ErrExist) && c.w.Force) {", "!errors.Is(err, fs.ErrExist) {", "parts of an upload are written into a folder that is somebody else's"),
    Fault("write-same-input", "patch/target.go", 'return &SameFileError{t.path, "the output is an input", "choose another name, or work in place"}', "break", "a new file is written over the old one while that is read"),
    Fault("apply-differs", f"{C}/apply.go", "\tif how != \"\" {\n\t\tif _, err := source.Sniff(r.path); err != nil {", "\tif false {\n\t\tif _, err := source.Sniff(r.path); err != nil {", "a patch is applied to a file that it is not for"),
    Fault("apply-check", f"{C}/apply.go", "\tif err == nil && how != \"\" {\n\t\terr = fmt", "\tif false {\n\t\terr = fmt", "the result of a patch is not looked at"),
    Fault("undo-newest", f"{C}/undo.go", "cmp.Or(b.made.Compare(a.made), cmp.Compare(b.Number, a.Number))", "cmp.Or(a.made.Compare(b.made), cmp.Compare(a.Number, b.Number))", "nothing: of several undo patches one fits the file as it is", equivalent="each is tried, and only the newest fits; the order spares tries", packages=("internal/change",)),
    Fault("undo-number", f"{C}/inplace.go", "name = fmt.Sprintf(\"%s%s.%d%s\", path, undoSuffix, n, patch.Suffix)", "return fmt.Sprint(name)", "a second change in place replaces the first one's undo patch"),
    Fault("sidecar-twice", "internal/sidecar/numbers.go", "return w.found[n.pointer] > 1 || ", "return ", "of a key that stands twice one is changed"),
    Fault("sidecar-link", "internal/sidecar/write.go", "err != nil || !filepath.IsLocal(inside) {", "err != nil || inside == \"\" {", "a config.json that is a link into a hub's cache is changed there"),
    Fault("hashed-inputs", f"{C}/provenance.go", "if now, err := os.Stat(r.path); err != nil || !patch.Unchanged(r.info, now) {", "if false {", "a statement speaks of other files than were read"),
    Fault("target-input", "internal/target/target.go", "if t.before != nil && os.SameFile(t.before, info) {", "if false {", "a report is written over the model that it is about", ("internal/target", "cmd/modelpatch")),
    Fault("target-binary", "internal/target/target.go", "\tif what != \"\" {\n", "\tif false {\n", "a report is written over a model", ("internal/target", "cmd/modelpatch")),
    # Gates.
    Fault("rule-below-stated", "artifact/rules/length.go", "if e.Capacity != nil && *e.Capacity < stated && len(e.Parameters.Grid) == 0 {", "if e.Capacity != nil && *e.Capacity < stated-1 && len(e.Parameters.Grid) == 0 {", "a table that is one row short passes the gate"),
    Fault("rule-fixed-below", "artifact/rules/length.go", "if e.Capacity != nil && *e.Capacity > stated && len(e.Parameters.Grid) == 0 {", "if e.Capacity != nil && *e.Capacity > stated+1 && len(e.Parameters.Grid) == 0 {", "an input that is one position short of its table passes without a word"),
    Fault("rule-silent", "artifact/rules/length.go", "\t\tcase report.BeyondWrong:\n", "\t\tcase report.BeyondError:\n", "a model that is silently wrong beyond its length passes the gate"),
    Fault("rule-yarn", "artifact/rules/length.go", "case stated > reaches*lengthSlack:", "case stated > reaches*2*lengthSlack:", "a model that states twice what YaRN reaches passes the gate"),
    Fault("waiver-ended", "artifact/policy/policy.go", "return p.today.After(w.until.AddDate(0, 0, 1))", "return p.today.After(w.until.AddDate(0, 0, 2))", "a waiver holds a day longer than it says"),
    Fault("policy-version", "artifact/policy/policy.go", "if r.err == nil && version != 1 {", "if r.err == nil && version > 1 {", "a policy without a version is taken"),
    Fault("policy-twice", "artifact/policy/policy.go", "\t\tcase seen[key]:\n", "\t\tcase false:\n", "of a key that stands twice in a policy one is dropped"),
    Fault("fails-level", "cmd/modelpatch/check.go", "rules.Weight(f.Level) >= rules.Weight(k.failOn)", "rules.Weight(f.Level) > rules.Weight(k.failOn)", "--fail-on warning passes warnings"),
    # Verify.
    Fault("verdict-failed", "verify/compare.go", "\tcase c.failed:\n", "\tcase false:\n", "a check that failed does not make the verdict different", ("verify", "internal/verdict")),
    Fault("verdict-missing", "verify/compare.go", "\t\tif c.expect == report.ExpectChanged {\n\t\t\treturn c.missing()\n\t\t}\n\t\treturn report.VerdictSame", "\t\treturn report.VerdictSame", "a change that was planned and not made is told as the same"),
    Fault("verdict-unplanned", "verify/compare.go", "\tcase c.expect == \"\":\n", "\tcase c.expect != \"x\":\n", "nothing yet: what differs fails a check of its own before", equivalent="rows, angles or biases that differ against the expectation fail their own check; this is the second line", packages=("verify", "internal/verdict")),
    Fault("rows-equal", "verify/table.go", "\t\t\tif d.look(x[j], y[j]) {\n", "\t\t\tif d.look(x[j], x[j]) {\n", "a row that differs is not seen"),
    Fault("parts-allowed", "verify/bytes.go", "return c.o.Plan != nil && (q.Position && p.Head == q.Head || givesWindow(p.Head, q.Head, c.window))", "return true", "a node that reads another input passes"),
    # Formats.
    Fault("gguf-pad", "gguf/part.go", "return (n + alignment - 1) &^ (alignment - 1)", "return (n + alignment) &^ (alignment - 1)", "weights are looked for one block too far"),
    Fault("gguf-power", "gguf/part.go", "is not a power of two up to %d\", n, MaxAlignment)", "is\", n, MaxAlignment)", "nothing: the words of a message", equivalent="go vet refuses the format; words are held by scripts of the command"),
    Fault("eval-negative-axis", "onnx/eval/shapes.go", "axis += ", "axis -= ", "a negative axis is another"),
    Fault("eval-broadcast", "onnx/eval/broadcast.go", "\t\t\tcase out[at] == 1:\n", "\t\t\tcase out[at] == 2:\n", "shapes that broadcast are refused"),
    Fault("source-unfinished", "internal/source/open.go", "\tif err := Unfinished(path); err != nil {\n\t\treturn nil, err\n\t}\n\tm, err", "\tm, err", "a file in the middle of an edit is read as if it were whole"),
    Fault("source-bomb", "internal/source/compressed.go", "if err := notAModel(path, head); err != nil {", "if err := error(nil); err != nil {", "a compressed file that is no model is unpacked whole"),
    # What a third batch of graphs showed.
    Fault("axes-attend", "onnx/axes/judge.go", "if free == 0 || mixed && !attend &&", "if free == 0 || mixed &&", "features ahead of frames are told as positions, and a weight as a table", ("position/onnxpos",)),
    Fault("formulas-once", f"{OP}/table.go", "reflect.DeepEqual(o.Detected.Scheme, t.Detected.Scheme)", "reflect.DeepEqual(o.Detected.Form, t.Detected.Form)", "of two sinusoids that a graph computes one is told"),
    Fault("tables-in-turns", f"{OP}/sheet/join.go", "slow.Row[p] != slow.Row[0]+p/n {", "slow.Row[p] != slow.Row[0] {", "a table that places take again ends the model where its rows do", (OP,)),
    Fault("grid-order", "schemes/fit/grid.go", "return [][]int{{0, 1}, {1, 0}}", "return [][]int{{0, 1}}", "sinusoids whose columns come first (SimpleViT) have no formula"),
    Fault("grid-turns", "schemes/fit/grid.go", "	add(each, each, true)\n", "", "sinusoids whose axes come by turns (LoFTR) have no formula"),
    Fault("turn-columns", f"{OP}/rotary/rotation.go", "cos.Floats[i], sin.Floats[i] = c, s", "cos.Floats[i], sin.Floats[i] = s, c", "rotations written as matrices have cosines for sines"),
    Fault("tokens-padded", f"{OP}/length.go", "if n := m.graph.Padded(); n != nil && old != new {", "if n := m.graph.Padded(); n != nil && old > new {", "a model behind a tokenizer that pads is made longer, and is not"),
    Fault("models-around", f"{OP}/within.go", "\t\t\ta.Graph.Enclose()\n", "", "a decoder inside of BeamSearch whose weights stand around it is not read"),
    Fault("patches-apart", f"{OP}/patches.go", "return d.m.CutApart(before.Index(), rows, columns)", "return nil", "pictures that a Reshape cuts into patches cannot have another size"),
    Fault("bake-chosen", f"{OP}/waves/bake.go", "if mask.Number(c) != 0 {", "if mask.Number(c) == 0 {", "bake after unbake has sines for cosines"),
    # What one contract for all models showed, and the list of a scaling's numbers.
    Fault("samples-behind", "verify/table.go", "min(p+p/2, length-1))", "p+p/2)", "a good file whose cache ends between two samples is told to be broken"),
    Fault("places-of-grid", "verify/single.go", "samplePositions(places(e, c.newLength()))", "samplePositions(c.newLength())", "a good model of pictures is told to be broken"),
    Fault("head-after", f"{OP}/relative/buckets.go", "head < 0 || int64(head) >= b.table.Dims[1]", "head < 0", "the bias of a head that is not there is that of another distance", (C,)),
    Fault("wrapped-tile", "position/extend.go", "\t\tmethod = schemes.GrowHierarchical\n", "\t\tmethod = schemes.GrowTile\n", "a table that starts again is made longer, and gives what it gave", (OP,)),
    Fault("limit-raised", f"{OP}/length/change.go", "if !c.repairIndex(s, name) {", "if c.repairIndex(s, name) {", "positions stop at the old end of a table that grew", (OP,)),
    Fault("own-record", f"{V}/record.go", "return own(b) - own(a)", "return own(a) - own(b)", "the plan of another model is told to explain a change"),
    Fault("numbers-told", "schemes/parameters.go", "ParameterFactor, ParameterOriginalLength, ParameterLowFreq,", "ParameterFactor, ParameterLowFreq,", "a command that is told lacks the original length", (C,)),
    Fault("numbers-read", "position/parameters/scaling.go", "n.Set(out, value(*n.real(&from)))", "n.Set(out, 0)", "a plan's factor is not held against the file", (V, "verify", "position/parameters")),
    Fault("attention-factor-1", "schemes/rotary.go", "if amplitude == 1 && s.Kind().Amplitude == nil {", "if amplitude == 1 {", "a YaRN model whose amplitude is 1 is told to have the one of the formula"),
    Fault("like-taken", "position/like.go", "p.Set(&taken, p.Get(s))", "p.Set(&taken, 0)", "rope --like leaves out the other model's original length", ("position", "cmd/modelpatch")),
    # Windows that are shifted, and what a fifth batch of graphs showed.
    Fault("shift-masks", f"{OP}/partition/mask.go", "\t\tif i == now[axis]-1 {\n", "\t\tif i == now[axis] {\n", "windows at the edge of a larger picture see what was rolled beside them", (OP,)),
    Fault("shift-missing", f"{OP}/length/shift.go", "\t\tfor i := 1; i < len(stage); i += 2 {\n", "\t\tfor i := len(stage); i < len(stage); i += 2 {\n", "a stage that was a single window is not shifted", (OP,)),
    Fault("shift-crop", f"{OP}/length/windows.go", "\t\tif f.cropAt(w) == n {\n", "\t\tif f.cropAt(w) == nil {\n", "a picture that was filled up to windows is refused", (OP,)),
    Fault("axes-compares", "onnx/axes/judge.go", "weighed := (a.weighed || a.channel) && !a.attends", "weighed := a.weighed || a.channel", "patches under a last weight are features, and their table is told as none", (OP,)),
    Fault("sines-doubled", f"{OP}/probe/coordinates.go", "return 4*told >= columns && moves > turned*largest", "return false", "rows of sines that whole numbers take are told as none", (OP,)),
    Fault("count-from-end", f"{OP}/beyond.go", "\t\t\tt.fromEnd = true\n\t\t\tt.countedFrom(0, fmt.Sprintf(\"is row p + %d", "\t\t\tt.countedFrom(0, fmt.Sprintf(\"is row p + %d", "a table whose rows are counted from its end is made longer, and old inputs give other outputs", (OP,)),
    Fault("frequencies-vary", f"{OP}/rotary/frequencies.go", "maxOff(f, short) > rowsTolerance {", "maxOff(f, short) < 0 {", "frequencies that the graph makes of the length are told for all lengths", (OP,)),
    Fault("bias-grows", f"{OP}/relative/distance.go", "|| stored == nil && m.grows(u, n) {", "{", "a bias that the graph computes is told to end at the length of a probe", (OP,)),
    Fault("bake-first", f"{OP}/waves/bake.go", "b.length+firstOf(a))", "b.length)", "baked sines lack the last positions", (OP,)),
    Fault("verdict-pictures", "verify/compare.go", "c.changed = c.changed || pictures", "_ = pictures", "extend --image --verify of a good file says that the planned change is not there", ("cmd/modelpatch",)),
    # Vectors by distance, and what bounds no length.
    Fault("scored-side", f"{OP}/scored/scored.go", "func(o *scored) bool { return o.byKey != b.byKey })", "func(o *scored) bool { return false })", "DeBERTa's table is told as a plain one by distance", (OP,)),
    Fault("scored-within", f"{OP}/scored/scored.go", "if within < seen {                // zeros beyond", "if false {", "a window of vectors is told to reach as far as the zeros around it", (OP,)),
    Fault("scored-keeps", f"{OP}/relative/waves.go", "\treturn w.pairs.Keeps(evaluate(), w.table.Tensor)\n", "\treturn nil\n", "sines of distances are made longer, and old inputs give other outputs", (OP,)),
    Fault("moved-slices", f"{OP}/origin/moving.go", "first[d] + step[d]*place[d]", "first[d] + place[d]", "elements behind a Slice with steps are told to come from others", (f"{OP}/origin",)),
    Fault("turns-bound", f"{OP}/beyond.go", "&& !o.turnsWithin(m, o.Detected.Capacity+1) {", "{", "of two tables that begin anew one is told to bound no length", (OP,)),
    Fault("falls-rows", f"{OP}/beyond.go", "\tif len(next) > 0 && next[0] == now[0] {\n", "\tif false {\n", "rows that fall to the first are told to be counted from the probe's length", (OP,)),
    Fault("features-free", "onnx/axes/judge.go", "f.root().attends || !slices.Contains", "!slices.Contains", "tables of tokens ahead of free features are told as none", (OP,)),
    Fault("angles-first", f"{OP}/rotary/store.go", "first[c] != 0 { // a difference", "false { // a difference", "folded angles that do not begin at 0 go on from 0", (OP,)),
    # What a graph is given, and what of it grows.
    Fault("given-positions", f"{OP}/probe/inputs.go", "v.Data = (!IsPositions(in.Name) || OfPairs(in)) &&", "v.Data = IsPositions(in.Name) ||", "distances of positions that are an input are told as unknown", (OP,)),
    Fault("given-formula", f"{OP}/probe/inputs.go", "return a + b, true", "return a, true", "masks of formulas have another size than keys, and graphs are told to fail", (f"{OP}/probe",)),
    Fault("looked-once", f"{OP}/other.go", "once := !m.graph.FreeImage() && !m.graph.Enlarged()", "once := false", "a recording of which one position was left is told to have no encoding", (OP,)),
    Fault("unfolded", "onnx/axes/moves.go", "windows != nil && shape[axis] == len(parts)", "false", "windows that were cut out one by one are told to have no encoding", (OP,)),
    Fault("cache-single", f"{OP}/probe/step.go", "if single || caches()", "if single && caches()", "one token beside keys of other names is told to have no encoding", (OP,)),
    Fault("cache-grows", f"{OP}/length/change.go", "in.Dims[caches[in.Name]].Value = int64(c.New)", "in.Dims[caches[in.Name]].Value += 0", "a table becomes longer than the cache that it is for", (OP,)),
    Fault("columns-alike", f"{OP}/probe/coordinates.go", "alike && !namesTokens(in.Name) && besideData(f, in)", "alike", "codebooks in columns are told as tables of places", (OP,)),
    Fault("signed-sines", f"{OP}/rows/cache.go", "return negated[min(2*column/columns, 1)]", "return negated[0]", "sines of the second of each pair are read with the sign of the first", (f"{OP}/rows",)),
    Fault("by-places", f"{OP}/relative/distance.go", "if have, met := seen[at]; met && have != x {", "if false {", "a bias of pairs is told as one of a window", (OP,)),
    Fault("counted-all", "position/extend.go", "end.Counted(i) == e.Capacity) {", "end.Counted(i) != -1) {", "a table longer than the graph is made longer still", (".", OP)),
    Fault("pair-layout", f"{OP}/rotary/rotation.go", "if besides(of.Shape, place(taken, 0), place(taken, stride)) {", "if true {", "halves that 2×2 matrices turn are told as neighbours", (OP,)),
    Fault("limits-later", f"{OP}/length/sizes.go", "if from[i] == starts[i] && 2*int(starts[i]) > was.Shape[axis] {", "if false {", "tokens that go round go round by another number", (OP,)),
    # Recurrences that were written out, rounding, and what inputs hold.
    Fault("steps-onward", f"{OP}/recurrence/recurrence.go", "x+int64(k)*(x-v.Ints[i])", "x+(x-v.Ints[i])", "steps of a recurrence pick one position again and again"),
    Fault("steps-begin", f"{OP}/recurrence/recurrence.go", "if k >= z.new-z.old {", "if k >= z.new-z.old+1 {", "a recurrence from the end begins a step too early"),
    Fault("steps-last", f"{OP}/recurrence/recurrence.go", "e.added[len(e.added)-1]", "e.added[0]", "what stands behind a recurrence reads a state in its middle"),
    Fault("steps-read", f"{OP}/recurrence/recurrence.go", "case !last:\n", "case false:\n", "a learned row for each step is not missed"),
    Fault("copies-restore", "onnx/copies.go", "v.readers = readers", "_, _ = v, readers", "what is asked of a graph after a change finds nodes that are not in its file"),
    Fault("rounding-bytes", "onnx/eval/trial.go", "to != int8 && to != uint8", "to != uint8", "keys that are stored as bytes make a sound file broken"),
    Fault("heads-window", f"{OP}/attention/window.go", "w.add(banded(head))", "w.add(banded(v))", "the window of the first head is told for all"),
    Fault("places-bound", f"{OP}/probe/inputs.go", "case compares && below == of && ok && against != of:", "case compares && below == of && !ok && against != of:", "a model with a length as an input is told to have no encoding", (OP,)),
    Fault("distances-own", f"{OP}/probe/coordinates.go", "in.Type.IsInteger() && differs(w, number) {", "false {", "biases by distances of an input are told as none", (OP,)),
    Fault("mixes-brought", "onnx/axes/judge.go", "if mixes && d.brought {", "if mixes {", "rows for each pair of positions are told as none"),
]
