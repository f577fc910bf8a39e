package eval

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/modelpatch/modelpatch/onnx"
)

// TestAttentionNodes evaluates the node tests of the shared corpus: shapes, and
// content where it is known.
func TestAttentionNodes(t *testing.T) {
	folders, _ := filepath.Glob("../../../shared/corpus/onnx/nodetests/*")
	if len(folders) == 0 {
		t.Skip("../shared/corpus/onnx/nodetests is not there")
	}
	for _, folder := range folders {
		if nodeTest(t, folder, filepath.Join(folder, "test_data_set_0")) == 0 {
			t.Errorf("%s: nothing is known of what it gives", filepath.Base(folder))
		}
	}
}

// evaluated are operators whose content the package computes.
var evaluated = strings.Split("Abs,Add,And,BitwiseAnd,BitwiseNot,BitwiseOr,BitwiseXor,Cast,CastLike,Ceil,Clip,Concat,Constant,ConstantOfShape,Cos,CumSum,DequantizeLinear,Div,"+
	"Einsum,Equal,Erf,Exp,Expand,EyeLike,Flatten,Floor,GridSample,Loop,Scan,ConcatFromSequence,SequenceAt,SequenceConstruct,SequenceEmpty,SequenceErase,SequenceInsert,SequenceLength,SplitToSequence,Gather,GatherElements,GatherND,Greater,GreaterOrEqual,Identity,If,IsInf,IsNaN,Less,LessOrEqual,Log,MatMul,"+
	"Gemm,Max,Mean,Min,Mod,Mul,Neg,NonZero,Not,OneHot,Or,Pad,Pow,QuantizeLinear,Range,Reciprocal,ReduceL1,ReduceMax,ReduceMean,ReduceMin,ReduceProd,ReduceSum,Relu,Reshape,Resize,"+
	"Round,ScatterND,ScatterElements,Shape,Sigmoid,Sign,Sin,Size,Slice,Softplus,Split,Sqrt,Squeeze,Sub,Sum,Tan,Tanh,Tile,TopK,Transpose,Trilu,Unsqueeze,Upsample,Where,Xor,"+
	"ArgMin,BitShift,Compress,DynamicQuantizeLinear,Conv,MaxPool,AveragePool,GlobalAveragePool,LSTM,GRU,Softmax,LayerNormalization,ArgMax,Attention,RotaryEmbedding,Dropout,LpPool,ConvInteger,MatMulInteger,RMSNormalization,Gelu,LeakyRelu,Elu,HardSwish,"+
	"Acos,Acosh,Asin,Asinh,Atan,Atanh,Celu,Cosh,Sinh,HardSigmoid,Mish,Selu,Shrink,Softsign,Swish,ThresholdedRelu,ReduceL2,ReduceLogSum,ReduceLogSumExp,ReduceSumSquare,LpNormalization", ",")

// TestOnnxNodes evaluates the node tests of the onnx package, and nodes of com.microsoft as ONNX Runtime runs them, which the Python
// that ENGINES_PYTHON names must have. Of the latter the content must be known.
func TestOnnxNodes(t *testing.T) {
	python := os.Getenv("ENGINES_PYTHON")
	if python == "" || testing.Short() {
		t.Skip("ENGINES_PYTHON is not set")
	}
	dir := t.TempDir()
	if out, err := exec.Command(python, "-W", "ignore", "testdata/nodetests.py", dir, strings.Join(evaluated, ",")).CombinedOutput(); err != nil {
		t.Skipf("%s has no onnx: %v\n%s", python, err, out)
	}
	folders, _ := filepath.Glob(dir + "/*")
	if len(folders) < 300 {
		t.Errorf("only %d node tests", len(folders))
	}
	known := 0
	for _, folder := range folders {
		known += nodeTest(t, folder, folder)
	}
	t.Logf("%d node tests, content of %d outputs known", len(folders), known)
	fused := t.TempDir()
	if out, err := exec.Command(python, "-W", "ignore", "testdata/fusednodes.py", fused).CombinedOutput(); err != nil {
		t.Fatalf("fusednodes.py: %v\n%s", err, out)
	}
	folders, _ = filepath.Glob(fused + "/*")
	if len(folders) < 20 {
		t.Errorf("only %d nodes of com.microsoft", len(folders))
	}
	for _, folder := range folders {
		if nodeTest(t, folder, folder) == 0 {
			t.Errorf("%s: nothing is known of what it gives", filepath.Base(folder))
		}
	}
}

// nodeTest evaluates one model on its inputs and counts outputs of known
// content. What is known must be right.
func nodeTest(t *testing.T, folder, data string) (known int) {
	t.Helper()
	name := filepath.Base(folder)
	f, err := onnx.Open(filepath.Join(folder, "model.onnx"), onnx.Options{})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0
	}
	defer f.Close()
	inputs := map[string]*Value{}
	for i, in := range f.Graph.Inputs {
		if v := readTensor(t, filepath.Join(data, fmt.Sprintf("input_%d.pb", i))); v != nil {
			inputs[in.Name] = v
		}
	}
	e := New(f, inputs)
	e.Run()
	for _, fail := range e.Failures {
		t.Errorf("%s: %s: %v", name, fail.Node.Op, fail.Err)
	}
	for i, out := range f.Graph.Outputs {
		want := readTensor(t, filepath.Join(data, fmt.Sprintf("output_%d.pb", i)))
		got := e.Main.Value(out.Name)
		if want == nil || !got.Ranked {
			continue
		}
		if fmt.Sprint(got.Shape) != fmt.Sprint(want.Shape) {
			t.Errorf("%s: output %d of shape %v, want %v", name, i, got.Shape, want.Shape)
			continue
		}
		if got.Type != want.Type && got.Type != 0 {
			t.Errorf("%s: output %d of type %v, want %v", name, i, got.Type, want.Type)
		}
		if !got.Known() || !want.Known() || strings.Contains(name, "resize") || strings.Contains(name, "gridsample") {
			continue // what is resized is known to vary, not by how much
		}
		known++
		for k := range want.Len() {
			if a, b := got.Number(k), want.Number(k); !close(a, b, want.Type) {
				t.Errorf("%s: output %d, element %d is %v, want %v", name, i, k, a, b)
				break
			}
		}
	}
	return known
}

func close(a, b float64, t onnx.DataType) bool {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return true
	}
	tolerance := 1e-5
	if t == onnx.Float16 || t == onnx.BFloat16 {
		tolerance = 1e-2
	}
	return t.IsFloat() && math.Abs(a-b) <= tolerance*(1+math.Abs(b))
}

// readTensor reads a TensorProto from a file of its own, by making it the
// initializer of a model; nil where it is none.
func readTensor(t *testing.T, path string) *Value {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	message := func(n protowire.Number, m []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), m)
	}
	number := func(n protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), v)
	}
	model := bytes.Join([][]byte{number(1, 8), message(8, number(2, 17)), message(7, message(5, b))}, nil)
	f, err := onnx.NewFile(bytes.NewReader(model), int64(len(model)))
	if err != nil {
		return nil
	}
	v := New(f, nil).constant(f.Graph.Initializers[0])
	v.load()
	if !v.Known() {
		return nil
	}
	return v
}
