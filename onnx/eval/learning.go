package eval

import (
	"slices"
	"strings"

	"github.com/modelpatch/modelpatch/onnx"
)

// learningOperators are those of ai.onnx.ml (onnx.ai/onnx/operators, ai.onnx.ml): what scikit-learn, XGBoost and
// their like are written as. Each row of the input is a sample for itself.
var learningOperators = [...]Operator{
	{Name: "ArrayFeatureExtractor", Since: 1, value: samples, Axes: AxesBySample},
	{Name: "Binarizer", Since: 1, value: sameAsFirst, Axes: AxesAlike},
	{Name: "CastMap", Since: 1, NotModelled: "anything"},
	{Name: "CategoryMapper", Since: 1, value: sameShape, Axes: AxesAlike},
	{Name: "DictVectorizer", Since: 1, NotModelled: "anything"},
	{Name: "FeatureVectorizer", Since: 1, value: samples, Axes: AxesBySample},
	{Name: "Imputer", Since: 1, value: sameAsFirst, Axes: AxesByToken},
	{Name: "LabelEncoder", Since: 1, value: sameShape, Axes: AxesAlike},
	{Name: "LinearClassifier", Since: 1, value: samples, Axes: AxesBySample},
	{Name: "LinearRegressor", Since: 1, value: samples, Axes: AxesBySample},
	{Name: "Normalizer", Since: 1, value: sameAsFirst, Axes: AxesByToken},
	{Name: "OneHotEncoder", Since: 1, NotModelled: "anything"},
	{Name: "SVMClassifier", Since: 1, value: samples, Axes: AxesBySample},
	{Name: "SVMRegressor", Since: 1, value: samples, Axes: AxesBySample},
	{Name: "Scaler", Since: 1, value: sameAsFirst, Axes: AxesByToken},
	{Name: "TreeEnsemble", Since: 5, value: samples, Axes: AxesBySample},
	{Name: "TreeEnsembleClassifier", Since: 1, value: samples, Axes: AxesBySample},
	{Name: "TreeEnsembleRegressor", Since: 1, value: samples, Axes: AxesBySample},
	{Name: "ZipMap", Since: 1, value: samples, Axes: AxesBySample},
}

// sameShape has the first input's shape, and numbers or words of its own.
func sameShape(c *call) ([]*Value, error) {
	a := c.need(0)
	return one(&Value{Ranked: a.Ranked, Shape: a.Shape}), nil
}

// samples has a row for each sample: of a classifier its label, and a score for each class.
func samples(c *call) ([]*Value, error) {
	x := c.need(0)
	if !x.Ranked || len(x.Shape) == 0 {
		return nil, nil
	}
	rows := x.Shape[:1]
	wide := func(n int) *Value {
		if n < 1 {
			return &Value{}
		}
		return &Value{Type: onnx.Float, Ranked: true, Shape: append(slices.Clone(rows), n)}
	}
	switch {
	case c.node.Op == "ArrayFeatureExtractor":
		out := wide(c.need(1).Len())
		out.Type = x.Type
		return one(out), nil
	case c.node.Op == "FeatureVectorizer":
		n := 0
		for _, d := range c.node.Ints("inputdimensions") {
			n += int(d)
		}
		return one(wide(n)), nil
	case len(c.node.Outputs) == 1:
		return one(wide(int(max(c.node.Int("n_targets", 1), c.node.Int("targets", 1))))), nil
	}
	classes := 0
	for _, a := range c.node.Attributes {
		if strings.HasPrefix(a.Name, "classlabels_") {
			classes = max(classes, len(a.Ints), len(a.Strs))
		}
	}
	return []*Value{{Ranked: true, Shape: rows}, wide(classes)}, nil
}
